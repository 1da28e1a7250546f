/**
 * Which uWebSockets.js the product under test runs on: the image has the newer build (Node 24), this host the one for
 * its own Node. They differ in what conformance tests pin as uWebSockets.js's own doing.
 */
export const isImageTarget = process.env.UWSRP_TEST_TARGET === 'image';
export const hasNewerBuild = isImageTarget || Number(process.versions.node.split('.')[0]) >= 22;
