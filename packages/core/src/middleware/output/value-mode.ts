import { isEnding, isNewAnswer } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { AgentError } from '../../error/agent-error.ts';
import type { Schema } from '../../schema/schema.ts';
import { lastAnswer } from '../limits/summarize.ts';
import type { OutputMode } from './output-mode.ts';
import type { ValueForm } from './value-form.ts';
import { ValueRun } from './value-run.ts';

export interface ValueModeOptions {
  /** Name of the function in error messages, such as `structured()`. */
  readonly where: string;
  readonly schema: Schema<unknown>;
  /** Number of invalid answers after which the agent call fails. */
  readonly attempts: number;
  /** Returns the form of the value in one run. */
  readonly form: (context: RunContext, steps: Steps) => ValueForm;
}

/**
 * Creates an output mode. Its value is in the last reply: in the text, or in a call of its tool.
 * Several runs may share it. Throws `CONFIGURATION` for an invalid number of attempts.
 */
export function valueMode({ where, schema, attempts, form }: ValueModeOptions): OutputMode {
  if (!Number.isInteger(attempts) || attempts < 1) {
    const message = `${where}: attempts must be a whole number of 1 or more, not ${String(attempts)}.`;
    throw new AgentError('CONFIGURATION', message);
  }
  const runs = new Map<string, ValueRun>();
  const runOf = ({ runId }: RunContext): ValueRun => runs.get(runId)!;
  return [
    {
      name: 'output',
      onError: 'fail',
      on: {
        // Later than `wrapRun`, in which other middleware hides tools.
        'pre-call': {
          priority: -10_000,
          handle: (_event, _control, context) => runOf(context).addTool(where),
        },
      },
      wrapRun: (next) => async (input, context, steps) => {
        const options = { schema, attempts, form: form(context, steps) };
        runs.set(context.runId, new ValueRun(context, steps, options));
        try {
          return await next(input, context);
        } finally {
          runs.delete(context.runId);
        }
      },
      wrapSettle: (next) => async (input, context) => {
        const run = runOf(context);
        const made = await next(input, context);
        const isJudged = isEnding(made) && made.isStored && made.message;
        return isJudged ? run.judgeStored({ ...made, message: made.message }) : made;
      },
      wrapRequest: (next) => (draft, context) => runOf(context).request(draft, next),
      wrapReply: (next) => async (reply, context) => {
        // The output of a tool is no value.
        if (reply.reason !== 'stop') return { to: 'model' };
        const run = runOf(context);
        const made = await next(reply, context);
        return isNewAnswer(made, context) ? run.judge(made) : made;
      },
    },
    lastAnswer((context, steps) => runOf(context).last(steps)),
  ];
}
