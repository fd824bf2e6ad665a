;; Two products of a vector and a matrix, W x: one for float32, one for eight-bit weights.
;;
;; What plain.js does number by number, four or eight at a time (WebAssembly's SIMD), and
;; for four rows of W at once: each piece of x that is loaded serves them all. simd.js
;; lays the numbers out: rows of W one after another, filled up with zeros to whole
;; vectors, and as many rows as make fours.
;;
;; `make kernel` turns this file into binary.js.
(module
  (memory (import "engine" "memory") 1)

  ;; y[j] = sum over k of w[j, k] * x[k]
  (func (export "floats")
    (param $x i32)       ;; where x begins: float32
    (param $w i32)       ;; where W begins: float32
    (param $y i32)       ;; where y goes: float32
    (param $width i32)   ;; bytes of a row of W, a multiple of 16
    (param $rows i32)    ;; rows of W, a multiple of 4
    (local $end i32) (local $k i32)
    (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (local $part v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128)

    (local.set $end (i32.add (local.get $y) (i32.shl (local.get $rows) (i32.const 2))))
    (loop $four_rows
      (local.set $w1 (i32.add (local.get $w) (local.get $width)))
      (local.set $w2 (i32.add (local.get $w1) (local.get $width)))
      (local.set $w3 (i32.add (local.get $w2) (local.get $width)))
      (local.set $sum0 (v128.const f32x4 0 0 0 0))
      (local.set $sum1 (v128.const f32x4 0 0 0 0))
      (local.set $sum2 (v128.const f32x4 0 0 0 0))
      (local.set $sum3 (v128.const f32x4 0 0 0 0))

      ;; Each lane of a sum has every fourth product of its row.
      (local.set $k (i32.const 0))
      (loop $columns
        (local.set $part (v128.load (i32.add (local.get $x) (local.get $k))))
        (local.set $sum0 (f32x4.add (local.get $sum0) (f32x4.mul
          (local.get $part) (v128.load (i32.add (local.get $w) (local.get $k))))))
        (local.set $sum1 (f32x4.add (local.get $sum1) (f32x4.mul
          (local.get $part) (v128.load (i32.add (local.get $w1) (local.get $k))))))
        (local.set $sum2 (f32x4.add (local.get $sum2) (f32x4.mul
          (local.get $part) (v128.load (i32.add (local.get $w2) (local.get $k))))))
        (local.set $sum3 (f32x4.add (local.get $sum3) (f32x4.mul
          (local.get $part) (v128.load (i32.add (local.get $w3) (local.get $k))))))
        (local.set $k (i32.add (local.get $k) (i32.const 16)))
        (br_if $columns (i32.lt_u (local.get $k) (local.get $width))))

      ;; The four lanes of each sum added up: first to two, of two rows side by side,
      ;; (0 1 2 3) (4 5 6 7) -> (0+2 4+6 1+3 5+7), then to one of each row.
      (local.set $sum0 (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
          (local.get $sum0) (local.get $sum1))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
          (local.get $sum0) (local.get $sum1))))
      (local.set $sum2 (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
          (local.get $sum2) (local.get $sum3))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
          (local.get $sum2) (local.get $sum3))))
      (v128.store (local.get $y) (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
          (local.get $sum0) (local.get $sum2))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
          (local.get $sum0) (local.get $sum2))))

      (local.set $w (i32.add (local.get $w3) (local.get $width)))
      (local.set $y (i32.add (local.get $y) (i32.const 16)))
      (br_if $four_rows (i32.lt_u (local.get $y) (local.get $end)))))

  ;; y[j] = step * scales[j] * (sum over k of w[j, k] * x[k]), the sum in whole numbers
  (func (export "bytes")
    (param $x i32)       ;; where x begins: int16
    (param $w i32)       ;; where W begins: int8
    (param $y i32)       ;; where y goes: float32
    (param $width i32)   ;; bytes of a row of W, a multiple of 16
    (param $rows i32)    ;; rows of W, a multiple of 4
    (param $scales i32)  ;; where the rows' scales begin: float32
    (param $step f32)    ;; what x counts in
    (local $end i32) (local $k i32) (local $at i32)
    (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (local $low v128) (local $high v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128)

    (local.set $end (i32.add (local.get $y) (i32.shl (local.get $rows) (i32.const 2))))
    (loop $four_rows
      (local.set $w1 (i32.add (local.get $w) (local.get $width)))
      (local.set $w2 (i32.add (local.get $w1) (local.get $width)))
      (local.set $w3 (i32.add (local.get $w2) (local.get $width)))
      (local.set $sum0 (v128.const i32x4 0 0 0 0))
      (local.set $sum1 (v128.const i32x4 0 0 0 0))
      (local.set $sum2 (v128.const i32x4 0 0 0 0))
      (local.set $sum3 (v128.const i32x4 0 0 0 0))

      ;; Sixteen columns at a time: eight weights are widened to 16 bits as they are
      ;; loaded, multiplied, and added in pairs of 32 bits.
      (local.set $k (i32.const 0))
      (loop $columns
        (local.set $at (i32.add (local.get $x) (i32.shl (local.get $k) (i32.const 1))))
        (local.set $low (v128.load (local.get $at)))
        (local.set $high (v128.load offset=16 (local.get $at)))
        (local.set $at (i32.add (local.get $w) (local.get $k)))
        (local.set $sum0 (i32x4.add (local.get $sum0) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load8x8_s (local.get $at)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load8x8_s offset=8 (local.get $at))))))
        (local.set $at (i32.add (local.get $w1) (local.get $k)))
        (local.set $sum1 (i32x4.add (local.get $sum1) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load8x8_s (local.get $at)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load8x8_s offset=8 (local.get $at))))))
        (local.set $at (i32.add (local.get $w2) (local.get $k)))
        (local.set $sum2 (i32x4.add (local.get $sum2) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load8x8_s (local.get $at)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load8x8_s offset=8 (local.get $at))))))
        (local.set $at (i32.add (local.get $w3) (local.get $k)))
        (local.set $sum3 (i32x4.add (local.get $sum3) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load8x8_s (local.get $at)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load8x8_s offset=8 (local.get $at))))))
        (local.set $k (i32.add (local.get $k) (i32.const 16)))
        (br_if $columns (i32.lt_u (local.get $k) (local.get $width))))

      ;; As above: lanes to two, to one.
      (local.set $sum0 (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
          (local.get $sum0) (local.get $sum1))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
          (local.get $sum0) (local.get $sum1))))
      (local.set $sum2 (i32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
          (local.get $sum2) (local.get $sum3))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31
          (local.get $sum2) (local.get $sum3))))
      (local.set $sum0 (i32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
          (local.get $sum0) (local.get $sum2))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
          (local.get $sum0) (local.get $sum2))))
      (v128.store (local.get $y) (f32x4.mul
        (f32x4.mul (f32x4.splat (local.get $step)) (v128.load (local.get $scales)))
        (f32x4.convert_i32x4_s (local.get $sum0))))

      (local.set $w (i32.add (local.get $w3) (local.get $width)))
      (local.set $scales (i32.add (local.get $scales) (i32.const 16)))
      (local.set $y (i32.add (local.get $y) (i32.const 16)))
      (br_if $four_rows (i32.lt_u (local.get $y) (local.get $end))))))
