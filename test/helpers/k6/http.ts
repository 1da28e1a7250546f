import { record } from './record.ts';

/** Answers each request with what K6_STAND_IN_ANSWER says. */
export default {
  get(url: string, params: unknown) {
    record.requests.push({ url, params });
    return JSON.parse(process.env.K6_STAND_IN_ANSWER ?? '{}') as unknown;
  },
};
