;; Products of a vector and a matrix, W x: for float32 weights, and for eight-bit ones, of one
;; vector or of four.
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

  ;; whole[k] = x[k] / step, rounded as in fixed-point.js; the result is step
  (func $fixed_point
    (param $x i32)       ;; where x begins: float32
    (param $whole i32)   ;; where its whole numbers go: int16
    (param $most f64)    ;; the largest of them
    (param $width i32)   ;; how many they are, a multiple of 16
    (result f32)
    (local $end i32) (local $at i32) (local $step f32)
    (local $top v128) (local $per_step v128) (local $value v128) (local $floor v128)

    (local.set $end (i32.add (local.get $x) (i32.shl (local.get $width) (i32.const 2))))
    (local.set $at (local.get $x))
    (loop $fours
      (local.set $top (f32x4.pmax
        (local.get $top) (f32x4.abs (v128.load (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $fours (i32.lt_u (local.get $at) (local.get $end))))
    (local.set $step (f32.demote_f64 (f64.div
      (f64.promote_f32 (f32.max
        (f32.max (f32x4.extract_lane 0 (local.get $top)) (f32x4.extract_lane 1 (local.get $top)))
        (f32.max (f32x4.extract_lane 2 (local.get $top)) (f32x4.extract_lane 3 (local.get $top)))))
      (local.get $most))))
    (if (f32.ne (local.get $step) (f32.const 0)) (then
      (local.set $per_step (f64x2.splat
        (f64.div (f64.const 1) (f64.promote_f32 (local.get $step)))))))

    ;; Two at a time, in double precision; halves are rounded up.
    (loop $twos
      (local.set $value (f64x2.mul (local.get $per_step)
        (f64x2.promote_low_f32x4 (v128.load64_zero (local.get $x)))))
      (local.set $floor (f64x2.floor (local.get $value)))
      (local.set $value (i32x4.trunc_sat_f64x2_s_zero (f64x2.add
        (local.get $floor)
        (v128.and (v128.const f64x2 1 1) (f64x2.ge
          (f64x2.sub (local.get $value) (local.get $floor))
          (v128.const f64x2 0.5 0.5))))))
      (v128.store32_lane 0 (local.get $whole)
        (i16x8.narrow_i32x4_s (local.get $value) (local.get $value)))
      (local.set $x (i32.add (local.get $x) (i32.const 8)))
      (local.set $whole (i32.add (local.get $whole) (i32.const 4)))
      (br_if $twos (i32.lt_u (local.get $x) (local.get $end))))
    (local.get $step))

  ;; y[j] = step * scales[j] * (sum over k of w[j, k] * whole[k]), where x = step * whole,
  ;; and the sum is of whole numbers
  (func (export "bytes")
    (param $x i32)       ;; where x begins: float32
    (param $whole i32)   ;; where its whole numbers go: int16
    (param $most f64)    ;; the largest of them
    (param $w i32)       ;; where W begins: int8
    (param $y i32)       ;; where y goes: float32
    (param $width i32)   ;; bytes of a row of W, a multiple of 16
    (param $rows i32)    ;; rows of W, a multiple of 4
    (param $scales i32)  ;; where the rows' scales begin: float32
    (local $end i32) (local $k i32) (local $at i32)
    (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (local $step f32) (local $low v128) (local $high v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128)

    (local.set $step (call $fixed_point
      (local.get $x) (local.get $whole) (local.get $most) (local.get $width)))
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
        (local.set $at (i32.add (local.get $whole) (i32.shl (local.get $k) (i32.const 1))))
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
      (br_if $four_rows (i32.lt_u (local.get $y) (local.get $end)))))

  ;; The same for four vectors at once, which follow one another, as their whole numbers
  ;; and products do: each weight that is loaded and widened serves them all.
  (func (export "four_bytes")
    (param $x i32) (param $whole i32) (param $most f64) (param $w i32) (param $y i32)
    (param $width i32) (param $rows i32) (param $scales i32)
    (local $end i32) (local $w_end i32) (local $stride i32)
    (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32)
    (local $steps v128) (local $low v128) (local $high v128)
    (local $sum0 v128) (local $sum1 v128) (local $sum2 v128) (local $sum3 v128)

    (local.set $steps (f32x4.replace_lane 0 (local.get $steps) (call $fixed_point
      (i32.add (local.get $x) (i32.mul (local.get $width) (i32.const 0)))
      (i32.add (local.get $whole) (i32.mul (local.get $width) (i32.const 0)))
      (local.get $most) (local.get $width))))
    (local.set $steps (f32x4.replace_lane 1 (local.get $steps) (call $fixed_point
      (i32.add (local.get $x) (i32.mul (local.get $width) (i32.const 4)))
      (i32.add (local.get $whole) (i32.mul (local.get $width) (i32.const 2)))
      (local.get $most) (local.get $width))))
    (local.set $steps (f32x4.replace_lane 2 (local.get $steps) (call $fixed_point
      (i32.add (local.get $x) (i32.mul (local.get $width) (i32.const 8)))
      (i32.add (local.get $whole) (i32.mul (local.get $width) (i32.const 4)))
      (local.get $most) (local.get $width))))
    (local.set $steps (f32x4.replace_lane 3 (local.get $steps) (call $fixed_point
      (i32.add (local.get $x) (i32.mul (local.get $width) (i32.const 12)))
      (i32.add (local.get $whole) (i32.mul (local.get $width) (i32.const 6)))
      (local.get $most) (local.get $width))))
    (local.set $stride (i32.shl (local.get $rows) (i32.const 2)))
    (local.set $end (i32.add (local.get $y) (local.get $stride)))
    (loop $row
      (local.set $x0 (local.get $whole))
      (local.set $x1 (i32.add (local.get $x0) (i32.shl (local.get $width) (i32.const 1))))
      (local.set $x2 (i32.add (local.get $x1) (i32.shl (local.get $width) (i32.const 1))))
      (local.set $x3 (i32.add (local.get $x2) (i32.shl (local.get $width) (i32.const 1))))
      (local.set $sum0 (v128.const i32x4 0 0 0 0))
      (local.set $sum1 (v128.const i32x4 0 0 0 0))
      (local.set $sum2 (v128.const i32x4 0 0 0 0))
      (local.set $sum3 (v128.const i32x4 0 0 0 0))
      (local.set $w_end (i32.add (local.get $w) (local.get $width)))
      (loop $columns
        (local.set $low (v128.load8x8_s (local.get $w)))
        (local.set $high (v128.load8x8_s offset=8 (local.get $w)))
        (local.set $sum0 (i32x4.add (local.get $sum0) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load (local.get $x0)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load offset=16 (local.get $x0))))))
        (local.set $x0 (i32.add (local.get $x0) (i32.const 32)))
        (local.set $sum1 (i32x4.add (local.get $sum1) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load (local.get $x1)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load offset=16 (local.get $x1))))))
        (local.set $x1 (i32.add (local.get $x1) (i32.const 32)))
        (local.set $sum2 (i32x4.add (local.get $sum2) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load (local.get $x2)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load offset=16 (local.get $x2))))))
        (local.set $x2 (i32.add (local.get $x2) (i32.const 32)))
        (local.set $sum3 (i32x4.add (local.get $sum3) (i32x4.add
          (i32x4.dot_i16x8_s (local.get $low) (v128.load (local.get $x3)))
          (i32x4.dot_i16x8_s (local.get $high) (v128.load offset=16 (local.get $x3))))))
        (local.set $x3 (i32.add (local.get $x3) (i32.const 32)))
        (local.set $w (i32.add (local.get $w) (i32.const 16)))
        (br_if $columns (i32.lt_u (local.get $w) (local.get $w_end))))

      ;; Lanes to two, to one: a product of each vector.
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
      (local.set $sum0 (f32x4.mul
        (f32x4.mul (local.get $steps) (v128.load32_splat (local.get $scales)))
        (f32x4.convert_i32x4_s (local.get $sum0))))
      (local.set $x0 (i32.add (local.get $y) (local.get $stride)))
      (local.set $x1 (i32.add (local.get $x0) (local.get $stride)))
      (v128.store32_lane 0 (local.get $y) (local.get $sum0))
      (v128.store32_lane 1 (local.get $x0) (local.get $sum0))
      (v128.store32_lane 2 (local.get $x1) (local.get $sum0))
      (v128.store32_lane 3 (i32.add (local.get $x1) (local.get $stride)) (local.get $sum0))

      (local.set $scales (i32.add (local.get $scales) (i32.const 4)))
      (local.set $y (i32.add (local.get $y) (i32.const 4)))
      (br_if $row (i32.lt_u (local.get $y) (local.get $end))))))
