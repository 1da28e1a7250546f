import { docker } from '../lib/docker.mjs';

const MEGABYTE = 1e6; // as `docker images` counts

/** The whole image against the base image it was built on. */
export const imageSize = {
  name: 'image-size',
  title: 'size of the image',
  onlyUwsrp: 'not our image',
  metrics: [
    { key: 'added', label: 'MB over its base' },
    { key: 'whole', label: 'MB in all' },
  ],
  mostRounds: 1,
  needsImage: true,
  async round(_proxy, { builtImage }) {
    const base = docker(
      'image',
      'inspect',
      '--format',
      '{{index .Config.Labels "org.opencontainers.image.base.name"}}',
      builtImage,
    );
    const [whole, below] = [builtImage, base].map((name) =>
      Number(docker('image', 'inspect', '--format', '{{.Size}}', name)),
    );
    return { added: (whole - below) / MEGABYTE, whole: whole / MEGABYTE };
  },
};
