// The echo of uws.mjs as a module for UWSRP_WS_MODULE: it runs inside the proxy, and nothing is relayed.
export default (app) => {
  app.ws('/echo', { idleTimeout: 0, message: (socket, message, isBinary) => socket.send(message, isBinary) });
};
