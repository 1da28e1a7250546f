import { startNginxApp } from '../apps/nginx.mjs';
import { cpuAndRate, measureLoad } from '../lib/measure.mjs';
import { runWrk } from '../lib/wrk.mjs';

/**
 * A scenario of plain requests: wrk in front, nginx behind. `request` is what `runWrk` takes, the rest what any scenario
 * may have.
 */
export const wrkScenario = ({ request, ...scenario }) => ({
  needs: 'http',
  ...scenario,
  startApp: startNginxApp,
  metrics: cpuAndRate('request'),
  async round({ app, ...proxy }, { seconds }) {
    const before = await app.requests();
    let answers = 0;
    const measures = await measureLoad(proxy, async () => {
      answers = await runWrk({ port: proxy.port, seconds, ...request });
      return answers;
    });
    // A proxy may answer for an app it cannot reach, and say 200: such answers are not counted, they fail the run.
    if ((await app.requests()) - before < answers) throw new Error('some answers were not the app’s');
    return measures;
  },
});
