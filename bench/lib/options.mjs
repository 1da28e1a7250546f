// The words after `npm run bench --`.

export const USAGE = `npm run bench [-- <option>...]

  --quick             the headline ratios in under two minutes; writes no file
  --list              names of the scenarios
  --only <name>...    these scenarios; writes no file
  --peers <name>...   uwsrp and these; writes no file
  --update            put what was measured into the results that are there
  --rounds <n>        rounds of each proxy (default 5)
  --seconds <n>       length of a round (default 3)
  --target host|image the built code with the Node at hand (default), or the image with its own
  --image <tag>       --target image, with an image that is there instead of a newly built uwsrp/node
`;

const QUICK = {
  only: ['get-64', 'unix-socket', 'download-100mb', 'upload-100mb', 'ws-echo-1', 'ws-echo-16'],
  peers: ['nginx', 'uws-reverse-proxy'],
  rounds: 3,
  seconds: 1,
};

/** Reads the options; whatever is wrong throws an error with a text for people. */
export function parseOptions(args, { scenarios, peers }) {
  const given = readWords(args);
  const options = { rounds: 5, seconds: 3, target: 'host', ...(given.quick ? QUICK : {}), ...given };
  if (options.update && options.peers) throw new Error('--update wants all peers beside each other: leave out --peers');
  const isWhole = options.only === undefined && options.peers === undefined;
  return {
    ...options,
    target: options.image === undefined ? options.target : 'image',
    writes: isWhole || options.update === true,
    scenarios: chosen('scenario', options.only, scenarios),
    peers: chosen('peer', options.peers && ['uwsrp', ...options.peers], peers),
  };
}

function readWords(words) {
  const given = {};
  const rest = [...words];
  const value = (name) => {
    if (rest.length === 0 || rest[0].startsWith('--')) throw new Error(`${name} wants a value`);
    return rest.shift();
  };
  while (rest.length > 0) {
    const name = rest.shift();
    const key = name.slice(2);
    if (['--quick', '--list', '--update', '--help'].includes(name)) given[key] = true;
    else if (name === '--only' || name === '--peers') given[key] = values(name, value, rest);
    else if (name === '--rounds' || name === '--seconds') given[key] = count(name, value(name));
    else if (name === '--image') given.image = value(name);
    else if (name === '--target') given.target = oneOf(name, value(name), ['host', 'image']);
    else throw new Error(`${name} is not an option\n\n${USAGE}`);
  }
  return given;
}

function values(name, value, rest) {
  const all = [value(name)];
  while (rest.length > 0 && !rest[0].startsWith('--')) all.push(rest.shift());
  return all;
}

function count(name, text) {
  if (!/^[1-9]\d?$/.test(text)) throw new Error(`${name} wants a number from 1 to 99, not ${text}`);
  return Number(text);
}

function oneOf(name, text, allowed) {
  if (!allowed.includes(text)) throw new Error(`${name} wants one of ${allowed.join(', ')}, not ${text}`);
  return text;
}

/** The named ones in the order of the whole list; all, when none are named. */
function chosen(kind, names, all) {
  for (const name of names ?? []) {
    if (!all.some((one) => one.name === name)) {
      throw new Error(`there is no ${kind} ${name} (${all.map((one) => one.name).join(', ')})`);
    }
  }
  return names === undefined ? all : all.filter(({ name }) => names.includes(name));
}
