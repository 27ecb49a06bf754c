import type { ToolUse } from '../../message/content-block.ts';
import { outputText, textOf, toolUsesOf } from '../../message/message-text.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { Schema } from '../../schema/schema.ts';
import type { Tool } from '../../tool/tool.ts';
import { asArguments } from './structured-schema.ts';
import type { Found, ValueForm } from './value-form.ts';

export interface ToolFormOptions {
  readonly schema: Schema<unknown>;
  /** Whether a request for the value forces a call of the output tool. */
  readonly forceTool: boolean;
}

/**
 * Gets the value from the arguments of a tool that is added to the agent's own tools (AgentScope:
 * `StructuredOutputHook`).
 */
export function toolForm({ schema, forceTool }: ToolFormOptions): ValueForm {
  const input = asArguments(schema);
  const reminder = `Give your answer now: call "${outputToolName}".`;
  const forced = forceTool && { toolChoice: { name: outputToolName } };
  let found: Found | undefined;
  const tool: Tool = {
    name: outputToolName,
    input,
    schema: {
      name: outputToolName,
      description: 'Takes your final answer. Call it once you know all that the answer needs.',
      parameters: input.jsonSchema,
    },
    replay: 'safe',
    takesAnswer: true,
    execute(value) {
      found = value as Found;
      return 'Received.';
    },
  };
  return {
    tool,
    lastQuestion: reminder,
    request(request, isAsked) {
      found = undefined;
      const isOffered = request.tools.some(isOutputCall);
      const tools = isOffered ? request.tools : [...request.tools, tool.schema];
      return { ...request, tools, ...(isAsked && forced) };
    },
    async read(reply, result) {
      if (found) return { ok: true, found };
      const call = toolUsesOf(reply).findLast(isOutputCall);
      if (!call) {
        const issues = [`the model did not call "${outputToolName}"`];
        return { ok: false, issues, text: textOf(reply) };
      }
      const text = call.raw ?? JSON.stringify(call.input);
      const checked = await readCall(input, call);
      if (!checked.ok) return { ok: false, issues: checked.issues, text };
      // A hook may have rejected the call or changed its arguments.
      if (result && result.state !== 'success')
        return { ok: false, issues: [outputText(result.output)], text };
      return { ok: true, found: checked.value };
    },
    question: () => reminder,
  };
}

export function isOutputCall({ name }: { readonly name: string }): boolean {
  return name === outputToolName;
}

function readCall(
  schema: Schema<Found>,
  { input, raw }: ToolUse,
): ReturnType<Schema<Found>['validate']> {
  return input === null && raw
    ? { ok: false, issues: ['it is not valid JSON'] }
    : schema.validate(input);
}
