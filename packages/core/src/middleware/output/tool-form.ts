import type { ToolUse } from '../../message/content-block.ts';
import { outputText, textOf, toolUsesOf } from '../../message/message-text.ts';
import { outputToolName } from '../../message/output-tool.ts';
import type { ToolSchema } from '../../model/chat-model.ts';
import type { Schema } from '../../schema/schema.ts';
import type { Tool } from '../../tool/tool.ts';
import type { Found, ValueForm } from './value-form.ts';

/**
 * Returns the tool whose arguments are the value (AgentScope: `StructuredOutputHook`). `take` gets
 * the value of each call. `input`: result of `asArguments`.
 */
export function outputTool(
  input: Schema<Found>,
  take: (runId: string, found: Found) => void,
): Tool {
  return {
    name: outputToolName,
    input,
    schema: schemaOf(input),
    replay: 'safe',
    takesAnswer: true,
    execute(value, { runId }) {
      take(runId, value as Found);
      return 'Received.';
    },
  };
}

/**
 * Gets the value from a call of the output tool. `forceTool`: whether a request for the value forces
 * this call.
 */
export function toolForm(input: Schema<Found>, forceTool: boolean): ValueForm {
  const schema = schemaOf(input);
  const reminder = `Give your answer now: call "${outputToolName}".`;
  const forced = forceTool && { toolChoice: { name: outputToolName } };
  return {
    isCall: true,
    lastQuestion: reminder,
    request(request, isAsked) {
      const tools = request.tools.some(isOutputCall) ? request.tools : [...request.tools, schema];
      return { ...request, tools, ...(isAsked && forced) };
    },
    async read(reply, result) {
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

function schemaOf({ jsonSchema }: Schema<Found>): ToolSchema {
  return {
    name: outputToolName,
    description: 'Takes your final answer. Call it once you know all that the answer needs.',
    parameters: jsonSchema,
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
