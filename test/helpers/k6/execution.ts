import { record } from './record.ts';

export default {
  scenario: { iterationInTest: 1 },
  test: {
    abort(reason: string) {
      record.aborted = reason;
    },
  },
};
