/** What came with this page, and what each is good for. */
const MEANINGS = {
  'Content-Encoding': 'compressed when the image was built',
  ETag: 'asked again, the answer is a short 304',
  'Cache-Control': 'keep a copy, and ask whether it is still good',
  'X-Request-Id': 'the same in the log of uwsrp',
};

function row(name, meaning, value) {
  const [made, title, hint, shown] = ['div', 'dt', 'small', 'dd'].map((tag) => document.createElement(tag));
  hint.textContent = meaning;
  shown.textContent = value ?? 'not sent';
  title.append(name, hint);
  made.append(title, shown);
  return made;
}

const { headers } = await fetch('/', { cache: 'no-store' });
const rows = Object.entries(MEANINGS).map(([name, meaning]) => row(name, meaning, headers.get(name)));
document.getElementById('headers').replaceChildren(...rows);
