import type { JsonObject } from '@isoloop/core';

/** State of a response or of one of its items. */
export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete';

/**
 * A page that the text cites. Both indexes are at the end of the text, because models do not say
 * which part of the text cites the page.
 */
export interface UrlCitation {
  readonly type: 'url_citation';
  readonly url: string;
  readonly title: string;
  readonly start_index: number;
  readonly end_index: number;
}

export interface ResponseText {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly UrlCitation[];
  readonly logprobs: readonly never[];
}

export interface ResponseSummary {
  readonly type: 'summary_text';
  readonly text: string;
}

export interface ResponseMessage {
  readonly type: 'message';
  readonly id: string;
  readonly status: ResponseStatus;
  readonly role: 'assistant';
  readonly content: readonly ResponseText[];
  /**
   * `commentary`: the reply also calls tools. `final_answer`: the reply calls none. Absent until
   * the reply ends.
   */
  readonly phase?: 'commentary' | 'final_answer';
}

export interface ResponseReasoning {
  readonly type: 'reasoning';
  readonly id: string;
  readonly status: ResponseStatus;
  readonly summary: readonly ResponseSummary[];
}

/** A call of one of the client's own tools. */
export interface ResponseFunctionCall {
  readonly type: 'function_call';
  readonly id: string;
  readonly status: ResponseStatus;
  readonly call_id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export type ResponseItem = ResponseMessage | ResponseReasoning | ResponseFunctionCall;

export interface ResponseUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: {
    readonly cached_tokens: number;
    readonly cache_write_tokens: number;
  };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

/** Fields of a request that its response repeats. */
export interface ResponseRequest {
  readonly instructions?: string | null;
  readonly max_output_tokens?: number | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly parallel_tool_calls?: boolean;
  readonly previous_response_id?: string | null;
  readonly reasoning?: JsonObject;
  readonly store?: boolean;
  readonly temperature?: number | null;
  readonly text?: JsonObject;
  readonly tool_choice?: string | JsonObject;
  readonly tools?: readonly JsonObject[];
  readonly top_p?: number | null;
}

/** A response of the Responses API. */
export interface ResponseObject extends Required<ResponseRequest> {
  readonly id: string;
  readonly object: 'response';
  /** Time of creation in seconds since 1970. */
  readonly created_at: number;
  readonly model: string;
  readonly status: ResponseStatus | 'failed';
  readonly background: false;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete_details: {
    readonly reason: 'max_output_tokens' | 'content_filter';
  } | null;
  readonly output: readonly ResponseItem[];
  readonly truncation: 'disabled';
  readonly usage: ResponseUsage | null;
}

export interface ResponseOptions {
  /** Name of the model, as in the client's request. */
  readonly model: string;
  /** Id of the response, `resp_…`. */
  readonly id: string;
  /** Time of creation in seconds since 1970. */
  readonly created: number;
  /** Whether to show the model's thinking, as reasoning summaries. Default: true. */
  readonly reasoning?: boolean;
  /**
   * Whether the text of the answer is one part of a message, and is sent only at the end. Use it
   * for answers such as JSON, where the text of failed attempts must not be sent. Default: false.
   */
  readonly sendsWholeText?: boolean;
  /** Fields of the request to repeat. Default: the values of a request without them. */
  readonly request?: ResponseRequest;
}

type ResponseFields = Pick<ResponseObject, 'status' | 'output'> & Partial<ResponseObject>;

/** Creates a response with the given fields. */
export function responseObject(
  { id, created, model, request }: ResponseOptions,
  fields: ResponseFields,
): ResponseObject {
  return {
    id,
    object: 'response',
    created_at: created,
    model,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: null,
    ...request,
    ...fields,
  };
}

export function outputTextPart(
  text: string,
  annotations: readonly UrlCitation[] = [],
): ResponseText {
  return { type: 'output_text', text, annotations, logprobs: [] };
}

/** Returns the id of an item: `msg_…`, `rs_…` or `fc_…`, with the number of the item. */
export function itemId(type: ResponseItem['type'], responseId: string, number: number): string {
  const prefix = { message: 'msg', reasoning: 'rs', function_call: 'fc' }[type];
  // OpenAI's ids have at most 64 characters, and the id of a stored response may be longer.
  return `${prefix}_${responseId.replace(/^resp_/, '').slice(-40)}_${number}`;
}
