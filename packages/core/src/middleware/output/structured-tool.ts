import { AgentError } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/content-block.ts';
import { outputText, textOf, toolResultsOf, toolUsesOf } from '../../message/message-text.ts';
import type { ModelRequest, ToolSchema } from '../../model/chat-model.ts';
import type { Schema } from '../../schema/schema.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { Tool } from '../../tool/tool.ts';
import type { LoopSteps } from '../../agent/steps.ts';
import type { OutputRun } from './output-mode.ts';
import type { RunContext } from '../../agent/run-context.ts';
import {
  isOutputCall,
  OutputTries,
  storedValue,
  type Found,
  type OutputSpec,
} from './structured-answer.ts';
import { asArguments } from './structured-schema.ts';

const reminder = `Give your answer now: call "${outputToolName}".`;

/**
 * Gets the value from the arguments of a tool that is added to the agent's own tools (AgentScope:
 * `StructuredOutputHook`).
 */
export function toolOutput(context: RunContext, steps: LoopSteps, spec: OutputSpec): OutputRun {
  if (context.tools.find(outputToolName) !== undefined) {
    throw new AgentError(
      'CONFIGURATION',
      `structured() reserves the tool name "${outputToolName}".`,
    );
  }
  const tries = new OutputTries(context, steps, spec.attempts);
  const input = asArguments(spec.schema);
  const schema: ToolSchema = {
    name: outputToolName,
    description: 'Takes your final answer. Call it once you know all that the answer needs.',
    parameters: input.jsonSchema,
  };
  let found: Found | undefined;
  let reminded = false;
  const tool: Tool = {
    name: outputToolName,
    input,
    schema,
    replay: 'safe',
    execute: (value) => {
      found = value as Found;
      return 'Received.';
    },
  };
  const forced: Pick<ModelRequest, 'toolChoice'> = spec.forceTool
    ? { toolChoice: { name: outputToolName } }
    : {};

  return {
    tools: [tool],
    request(request) {
      const tools = request.tools.some(isOutputCall) ? request.tools : [...request.tools, schema];
      return { ...request, tools, ...(reminded && forced) };
    },
    stored: (answer) => storedValue(spec.schema, answer),
    async judge(reply) {
      if (reminded) await tries.fail(textOf(reply), [`the model did not call "${outputToolName}"`]);
      reminded = true;
      return tries.again(reply, reminder);
    },
    async settled(pending) {
      const { messages } = context;
      const reply = messages.findLast(({ role }) => role === 'assistant');
      const call = reply && toolUsesOf(reply).findLast(isOutputCall);
      // Another tool call needs a decision first. The value is read again when the run resumes.
      if (!call || pending.length) return undefined;
      const result = messages.flatMap(toolResultsOf).find(({ toolUseId }) => toolUseId === call.id);
      if (!found) {
        const checked = await readCall(input, call);
        if (checked.ok && result?.state === 'success') found = checked.value;
        else
          await tries.fail(
            rawOf(call),
            checked.ok ? [outputText(result?.output ?? '')] : checked.issues,
          );
      }
      if (!found) return undefined;
      const message = await tries.answer(found, reply, 'reasoning-chunk');
      return { message, output: found.value };
    },
    async onLimit() {
      const fitted = await steps.fit();
      const messages = [...fitted, steps.message('user', reminder)];
      const reply = await steps.ask(messages, (request) => ({
        ...request,
        tools: [schema],
        ...forced,
      }));
      if (reply.type === 'cut') return reply;
      const call = toolUsesOf(reply.message).findLast(isOutputCall);
      const checked = call
        ? await readCall(input, call)
        : { ok: false as const, issues: [`the model did not call "${outputToolName}"`] };
      if (!checked.ok)
        throw await tries.failure(call ? rawOf(call) : textOf(reply.message), checked.issues);
      const message = await tries.answer(checked.value, reply.message, 'summary-chunk');
      return {
        type: 'whole',
        message: await steps.revise('post-summary', message),
        output: checked.value.value,
      };
    },
  };
}

function readCall(
  schema: Schema<Found>,
  { input, raw }: ToolUse,
): ReturnType<Schema<Found>['validate']> {
  return input === null && raw
    ? { ok: false, issues: ['it is not valid JSON'] }
    : schema.validate(input);
}

function rawOf({ input, raw }: ToolUse): string {
  return raw ?? JSON.stringify(input);
}
