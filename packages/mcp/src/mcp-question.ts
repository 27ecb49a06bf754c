import type { CallToolResult, ElicitResult } from '@modelcontextprotocol/client';
import {
  AgentError,
  type Decision,
  type PendingCall,
  type JsonObject,
  outputText,
} from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import { parseJson, isRecord } from '@isoloop/core/message';

/** Questions of an MCP server by their keys. Each is a form to fill in or a page to visit. */
export type McpQuestions = Readonly<Record<string, McpQuestion>>;

/** One question of an MCP server, as the protocol defines it (`elicitation/create`). */
export type McpQuestion =
  | {
      readonly mode?: 'form';
      readonly message: string;
      /** JSON Schema of the answer: an object with simple fields. */
      readonly requestedSchema: JsonObject;
    }
  | { readonly mode: 'url'; readonly message: string; readonly url: string };

/** Details of a tool call that waits for answers, in its `PendingCall`. Plain JSON. */
export interface McpQuestionDetails {
  readonly questions: McpQuestions;
  /**
   * How the tool call continues. `retry`: the tool call is sent again with the answers. `repeat`:
   * the tool call is sent again without the answers.
   */
  readonly next: 'retry' | 'repeat';
  /** The server's own state, which it gets back with the answers. */
  readonly requestState?: string;
}

/** What the server says about a tool call: its result, or questions. */
export type McpReply = { readonly result: CallToolResult } | McpQuestionDetails;

export type McpAnswers = Readonly<Record<string, ElicitResult>>;

export function questionText(questions: McpQuestions): string {
  return Object.values(questions)
    .map((question) =>
      [question.message, 'url' in question && question.url].filter(Boolean).join(' '),
    )
    .join('\n');
}

export function questionDetails(pending: PendingCall | undefined): McpQuestionDetails | undefined {
  const { kind, details } = pending ?? {};
  return kind === 'suspended' && isRecord(details?.['questions'])
    ? (details as unknown as McpQuestionDetails)
    : undefined;
}

/**
 * Returns the answers in a decision. Its output is the fields of the form as JSON. For several
 * questions, it is an object of such objects by key. If the form has one field, other text is its
 * value. Throws an error for the person if the decision does not answer the questions.
 */
export async function toAnswers(questions: McpQuestions, decision: Decision): Promise<McpAnswers> {
  const keys = Object.keys(questions);
  const answerAll = (action: 'decline' | 'cancel'): McpAnswers =>
    Object.fromEntries(keys.map((key) => [key, { action }]));
  if (decision.type === 'reject') return answerAll('decline');
  if (decision.type === 'edit')
    throw answerError('The tool call cannot be edited now. Answer with a result, or reject it.');
  const { output = '', state = 'success' } = decision.type === 'result' ? decision : {};
  if (state !== 'success') return answerAll('cancel');
  const text = outputText(output).trim();
  const [only] = Object.values(questions);
  const answer =
    keys.length === 1 && only ? { [keys[0]!]: readAnswer(only, text) } : readJson(text);
  if (!isRecord(answer))
    throw answerError(`The answer must be an object with: ${keys.join(', ')}.`);
  const answers: Record<string, ElicitResult> = {};
  for (const key of keys) answers[key] = await toAnswer(questions[key]!, answer[key] ?? {});
  return answers;
}

function readAnswer(question: McpQuestion, text: string): unknown {
  const value = readJson(text);
  if (isRecord(value) || 'url' in question) return value;
  const [field, ...others] = Object.entries(fieldsOf(question.requestedSchema['properties']));
  if (!field || others.length) return value;
  const [name, schema] = field;
  return { [name]: fieldsOf(schema)['type'] === 'string' ? text : value };
}

async function toAnswer(question: McpQuestion, answer: unknown): Promise<ElicitResult> {
  if ('url' in question) return { action: 'accept' };
  if (!isRecord(answer)) throw answerError('The answer must be an object.');
  const content = { ...defaultsOf(question.requestedSchema), ...answer };
  const problem = await problemOf(question.requestedSchema, content);
  if (problem !== undefined) throw answerError(`The answer does not fit: ${problem}.`);
  return { action: 'accept', content: content as NonNullable<ElicitResult['content']> };
}

/** Returns why the answer does not fit the form. Checks without `eval`. */
async function problemOf(schema: JsonObject, content: object): Promise<string | undefined> {
  const { CfWorkerJsonSchemaValidator } =
    await import('@modelcontextprotocol/client/validators/cf-worker');
  try {
    const check = new CfWorkerJsonSchemaValidator({ shortcircuit: false }).getValidator(schema);
    const { valid, errorMessage } = check(content);
    return valid ? undefined : errorMessage;
  } catch {
    // The schema is not valid, so only the server checks the answer.
    return undefined;
  }
}

/** Returns the defaults of a form's fields. */
function defaultsOf({ properties }: JsonObject): object {
  const fields = Object.entries(fieldsOf(properties)).map(
    ([name, schema]) => [name, fieldsOf(schema)['default']] as const,
  );
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** Returns the value of the JSON text, an empty object for no text, or other text unchanged. */
function readJson(text: string): unknown {
  const value = text ? parseJson(text) : {};
  return value === undefined ? text : value;
}

function answerError(message: string): AgentError {
  return new AgentError('INVALID_DECISION', message);
}

/**
 * Returns the question in the parameters of an `elicitation/create` request. Returns `undefined` if
 * they are not valid. The SDK's schema does not fit all revisions.
 */
function toQuestion(params: unknown): McpQuestion | undefined {
  const { message, url, requestedSchema } = fieldsOf(params);
  if (typeof message !== 'string') return undefined;
  if (typeof url === 'string') return { mode: 'url', message, url };
  return isRecord(requestedSchema)
    ? { mode: 'form', message, requestedSchema: requestedSchema as JsonObject }
    : undefined;
}

/**
 * Returns the questions in the requests of a server of revision 2026-07-28. Throws
 * `MCP_BAD_RESPONSE` for a request that this client does not answer.
 */
export function toQuestions(requests: object): McpQuestions {
  const entries = Object.entries(requests).map(([key, request]) => {
    const { method, params } = fieldsOf(request);
    const question = method === 'elicitation/create' ? toQuestion(params) : undefined;
    if (question) return [key, question] as const;
    const text = String(JSON.stringify(request)).slice(0, 200);
    throw new AgentError('MCP_BAD_RESPONSE', `The MCP server asks for something unknown: ${text}`);
  });
  return Object.fromEntries(entries);
}

/**
 * Returns the questions in an error. With such an error, a server of revision 2025-11-25 asks a
 * person to visit pages before the client repeats the tool call.
 */
export function questionsInError(error: unknown): McpReply | undefined {
  const { code, data } = fieldsOf(error);
  const { elicitations: questions } = fieldsOf(data);
  if (code !== -32_042 || !Array.isArray(questions) || !questions.length) return undefined;
  const entries = questions.map((each, index) => [String(index), toQuestion(each)] as const);
  if (entries.some(([, question]) => !question)) return undefined;
  return { questions: Object.fromEntries(entries) as McpQuestions, next: 'repeat' };
}
