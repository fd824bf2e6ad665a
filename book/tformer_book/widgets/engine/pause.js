// Between two pieces of work.
const { port1, port2 } = new MessageChannel();

// Let messages in: one that asks to stop, for example.
export function pause() {
  return new Promise((done) => {
    port2.onmessage = done;
    port1.postMessage(null);
  });
}
