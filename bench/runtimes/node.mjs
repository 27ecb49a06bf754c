import { fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs the contenders in Node, with a new process per contender and scenario, and a full garbage
 * collection before each repetition.
 */
export async function openRuntime({ origin, collect = true }) {
  return {
    version: process.version.slice(1),
    async start(name, scenario) {
      const files = [
        `${import.meta.dirname}/../contenders/${name}.mjs`,
        scenario,
        `${origin}/${scenario}/v1`,
      ];
      const { NODE_OPTIONS: _, ...env } = process.env;
      const child = fork(`${import.meta.dirname}/../lib/node-child.mjs`, files, {
        execArgv: ['--expose-gc'],
        env: { ...env, NODE_ENV: 'production' },
      });
      const answer = async () => {
        const ended = new AbortController();
        const [message] = await Promise.race([
          once(child, 'message', { signal: ended.signal }),
          once(child, 'exit', { signal: ended.signal }).then(([code]) => [
            { error: `its process ended with ${code}` },
          ]),
        ]);
        ended.abort();
        if (message.error) throw new Error(`${name}, ${scenario}: ${message.error}`);
        return message;
      };
      await answer();
      return {
        rep(plan) {
          const reply = answer();
          child.send({ ...plan, collect });
          return reply;
        },
        stop: () => child.kill(),
      };
    },
    close: async () => undefined,
  };
}
