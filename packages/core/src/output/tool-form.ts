import type { Run } from '../agent/middleware.ts';
import { misconfigured } from '../error/agent-error.ts';
import { argumentsOf } from '../message/call-arguments.ts';
import {
  outputText,
  textOf,
  toolResultsOf,
  toolUsesOf,
  type ContentBlock,
  type ToolResult,
  type ToolUse,
  type Msg,
} from '../message/msg.ts';
import { omitUndefined, type JsonObject, type JsonValue } from '../message/json.ts';
import { outputToolName, wrappedName } from '../schema/output-format.ts';
import { withMovedRefs } from '../schema/local-refs.ts';
import { objectInput, type Schema, type Validation } from '../schema/schema.ts';
import type { Tool } from '../tool/tool.ts';
import type { AnswerParts, ParsedOutput, OutputForm } from './output-form.ts';
import { textForm } from './text-form.ts';

/** How the model has to call the tool, and what happens if it does not. */
interface ToolFormOptions {
  readonly forceTool: boolean;
  /** Whether requests may have a `responseSchema`. */
  readonly takesSchema: boolean;
}

/**
 * Gets the output from the arguments of a tool, which it adds to the run. Throws `CONFIGURATION` if
 * the run has another tool of this name.
 *
 * Some servers do not enforce a forced call, such as llama.cpp with some models. After a forced
 * call that came back as text, the model has to write the output as text (`textForm`).
 */
export function toolForm(
  schema: Schema<unknown>,
  { forceTool, takesSchema }: ToolFormOptions,
  run: Run,
): OutputForm {
  const input = asArguments(schema);
  const asText = textForm(run, input, { responseSchema: true });
  // What the newest request asked for, and whether the next one asks for text.
  let demand: 'any' | 'call' | 'text' = 'any';
  let isText = false;
  const reminder = `Give your answer now: call "${outputToolName}".`;
  const forcedChoice = forceTool && { toolChoice: { name: outputToolName } };
  let output: ParsedOutput | undefined;
  const tool = outputTool(input, (value) => (output = value));
  addOutputTool(run, tool);
  const read = async (reply: Msg): Promise<Validation<ParsedOutput>> => {
    if (output) return { ok: true, value: output };
    if (demand === 'text') return readWrapped(asText, reply);
    isText = demand === 'call' && takesSchema && !toolUsesOf(reply).length;
    return readCall(input, outputCallIn(reply));
  };
  return {
    schema,
    isReminded: true,
    limitPrompt: reminder,
    adaptRequest(request, isAsked) {
      output = undefined;
      if (isText) {
        demand = 'text';
        const { toolChoice: _toolChoice, ...others } = request;
        return asText.adaptRequest({ ...others, tools: [] }, isAsked);
      }
      demand = isAsked && forceTool ? 'call' : 'any';
      const isOffered = request.tools.some(isOutputCall);
      const tools = isOffered ? request.tools : [...request.tools, tool.schema];
      return { ...request, tools, ...(isAsked && forcedChoice) };
    },
    read,
    writtenText(reply) {
      const call = outputCallIn(reply);
      return call ? argumentsOf(call) : textOf(reply);
    },
    async readResults(messages) {
      const { reply, result } = newestResult(messages);
      if (!reply || !result) return undefined;
      const reading = await read(reply);
      // A hook may have rejected the call or changed its arguments.
      const isRejected = !output && reading.ok && result.state !== 'success';
      if (!isRejected) return { reply, reading };
      return { reply, reading: { ok: false, issues: [outputText(result.output)] } };
    },
    correctionText(issues) {
      if (demand === 'text') return asText.correctionText(issues);
      return isText ? 'Give your answer now, as JSON alone.' : reminder;
    },
    answer: (parts) => toolAnswer(parts, run),
    withoutAttempt: withoutOutputCalls,
  };
}

/** Adds the output tool to the run. Throws `CONFIGURATION` if the name is not free. */
function addOutputTool(run: Run, tool: Tool): void {
  if (!run.tools.current.find(outputToolName)) return run.tools.add([tool]);
  const message = `structured() reserves the tool name "${outputToolName}". Rename your tool.`;
  throw misconfigured(message);
}

function outputTool(input: Schema<ParsedOutput>, take: (output: ParsedOutput) => void): Tool {
  return {
    name: outputToolName,
    input,
    schema: {
      name: outputToolName,
      description: 'Takes your final answer. Call it once you know all that the answer needs.',
      parameters: input.jsonSchema,
    },
    replay: 'safe',
    givesAnswer: true,
    execute(value) {
      take(value as ParsedOutput);
      return 'Received.';
    },
  };
}

/** Returns the newest reply, and the result of its call of the output tool. */
function newestResult(messages: readonly Msg[]): {
  readonly reply: Msg | undefined;
  readonly result: ToolResult | undefined;
} {
  const replyIndex = messages.findLastIndex(({ role }) => role !== 'tool');
  const reply = messages[replyIndex];
  const call = reply && outputCallIn(reply);
  const results = messages.slice(replyIndex + 1).flatMap(toolResultsOf);
  return { reply, result: results.find(({ toolUseId }) => toolUseId === call?.id) };
}

/** Returns the last call of the output tool in a reply. */
function outputCallIn(reply: Msg): ToolUse | undefined {
  return toolUsesOf(reply).findLast(isOutputCall);
}

/** Reads the output from a text that has the form of the tool's arguments. */
async function readWrapped(form: OutputForm, reply: Msg): Promise<Validation<ParsedOutput>> {
  const reading = await form.read(reply);
  return reading.ok ? { ok: true, value: reading.value.value as ParsedOutput } : reading;
}

async function readCall(
  schema: Schema<ParsedOutput>,
  call: ToolUse | undefined,
): Promise<Validation<ParsedOutput>> {
  if (!call) return { ok: false, issues: [`the model did not call "${outputToolName}"`] };
  if (call.input === null && call.raw) return { ok: false, issues: ['it is not valid JSON'] };
  return schema.validate(call.input);
}

/** Creates the answer: the last thinking of the attempts, and the output as text. */
async function toolAnswer(
  { reply, removed, text, metadata, chunk }: AnswerParts,
  run: Run,
): Promise<Msg> {
  const thinking = lastThinking([...removed, reply]);
  const content: ContentBlock[] = [...thinking, { type: 'text', text }];
  const message = run.createMessage('assistant', content, { metadata });
  // Readers have text of the reply, which the answer does not have.
  if (textOf(reply) && toolUsesOf(reply).every(isOutputCall)) {
    await run.events.emit('step-reset', { reason: 'output', replacement: message });
    return message;
  }
  const piece = { blockId: `${message.id}:0`, delta: text };
  if (chunk === 'summary-chunk') await run.events.emit(chunk, piece);
  else await run.events.emit(chunk, { ...piece, kind: 'text' });
  return message;
}

function isOutputCall({ name }: { readonly name: string }): boolean {
  return name === outputToolName;
}

/**
 * Removes the calls of the output tool from a message. Returns `undefined` if the message has
 * nothing but calls or results of that tool.
 */
function withoutOutputCalls(message: Msg): Msg | undefined {
  const uses = toolUsesOf(message);
  const isAttempt = uses.length > 0 && uses.every(isOutputCall);
  if (isAttempt || toolResultsOf(message).some(isOutputCall)) return undefined;
  if (!uses.some(isOutputCall)) return message;
  const isKept = (block: ContentBlock): boolean =>
    block.type !== 'tool_use' || !isOutputCall(block);
  return { ...message, content: message.content.filter(isKept) };
}

/**
 * Returns the model's last thinking, without signatures and provider metadata. These belong to a
 * tool call that is removed, and providers reject them without that tool call.
 */
function lastThinking(messages: readonly Msg[]): readonly ContentBlock[] {
  const thinkingByMessage = messages.map(({ content }) =>
    content.filter((block) => block.type === 'thinking'),
  );
  const last = thinkingByMessage.findLast(({ length }) => length > 0) ?? [];
  return last.map(({ type, thinking }) => ({ type, thinking }));
}

/**
 * Returns the schema for a tool's arguments, which must be an object. Another value is wrapped in
 * an object: `{ response: … }`. So is an object with such a field.
 */
export function asArguments({ jsonSchema, validate }: Schema<unknown>): Schema<ParsedOutput> {
  const { type, properties } = jsonSchema;
  const isWrapped = type !== 'object' || Object.hasOwn(Object(properties), wrappedName);
  return {
    jsonSchema: isWrapped ? wrap(jsonSchema) : jsonSchema,
    async validate(input) {
      const json = (isWrapped ? Object(input)[wrappedName] : input) as JsonValue | undefined;
      if (isWrapped && json === undefined)
        return { ok: false, issues: [`${wrappedName}: it is missing`] };
      const result = await validate(json);
      return result.ok ? { ok: true, value: { value: result.value, json: json! } } : result;
    },
  };
}

/**
 * Returns the schema of an object whose only property has the given schema. Definitions move to the
 * new root, so references to them stay. Other references get the path of the property.
 */
function wrap(schema: JsonObject): JsonObject {
  const { $defs, definitions, ...response } = withMovedRefs(schema, wrappedRef);
  const wrapper = objectInput({ [wrappedName]: response });
  return { ...wrapper, ...omitUndefined({ $defs, definitions }) };
}

const wrappedRef = `#/properties/${wrappedName}`;
