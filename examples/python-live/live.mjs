// Loaded into uwsrp (UWSRP_WS_MODULE): holds the WebSocket of every open page. What the pages hear, app.py publishes.

/** @type {import('uwsrp').NativeModule} */
export default function (app) {
  app.ws('/live', {
    // Pages only listen: they vote by HTTP.
    maxPayloadLength: 1024,
    // A page that cannot keep up would miss votes. Closed, it connects again and asks for them.
    closeOnBackpressureLimit: true,

    open(ws) {
      ws.subscribe('votes');
    },
  });
}
