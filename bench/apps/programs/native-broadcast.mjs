// /subscribe and /publish of uws.mjs as a module for UWSRP_WS_MODULE: it runs inside the proxy, and nothing is relayed.
export default (app, context) => {
  app.ws('/subscribe', { idleTimeout: 0, open: greet });
  app.ws('/publish', {
    idleTimeout: 0,
    message: (_socket, message, isBinary) => context.publish('all', message, isBinary),
  });
};

function greet(socket) {
  socket.subscribe('all');
  socket.send('hello');
}
