import { timerMs } from '@isoloop/core/wait';
import { metadataOf } from '@isoloop/core/message';
import { fieldsOf, reportFailure } from '@isoloop/core/error';
import { checkFields, checkOptions, natural } from '@isoloop/core/options';
import { AgentError, textOf, tool, type Tool, type Middleware } from '@isoloop/core';
import { providedValue } from '@isoloop/core/tool';
import { lastQuestion, recallOnce, type ReportFailure } from './recall-once.ts';
import {
  type RetrievalCall,
  type RetrievalOptions,
  findDocuments,
  retrievalOptions,
} from './find-documents.ts';

/**
 * Finds documents for an agent's answers. Put this middleware in the agent's `use` list. It
 * searches before each agent call, gives the model a search tool, or does both.
 *
 * A search before an agent call puts its documents into a message between system prompt and
 * conversation, or at the end of the system prompt. Each model request of the agent call has them,
 * but `Memory` does not store them. If a search fails or takes too long, `onError` gets the error
 * and the agent call continues. In that case, the search tool returns an error result. Invalid
 * documents are left out and reported to `onError`. Throws `CONFIGURATION` for an invalid option.
 * Source: Arc Reactor, RAG.
 */
export function retrieval(options: RetrievalOptions): Middleware {
  checkOptions('retrieval()', options, retrievalOptions);
  const { mode = 'auto', query = lastQuestion, role, onError } = options;
  const report: ReportFailure = (error) => {
    const failure = AgentError.from(error, 'STORAGE_FAILED');
    reportFailure('Retrieval failed. The call continues without it.', onError, failure);
  };
  const recall = recallOnce({
    name: 'retrieved_context',
    messageContext: options,
    role: (run) => role ?? run.options.retrievalRole,
    find(
      input,
      { sessionId, stopSignal: signal, prompt: { messages }, tools: { context: toolContext } },
    ) {
      const get: RetrievalCall['get'] = (token) => providedValue(token, toolContext);
      const call = { sessionId, signal, messages, get };
      return findDocuments(options, call, (within) => query(input, within), report);
    },
    report,
  });
  return {
    name: 'retrieval',
    ...(mode !== 'tool' && recall),
    ...(mode !== 'auto' && { tools: [searchTool(options, report)] }),
  };
}

/**
 * Returns a `query` function for `retrieval()`: it returns the last `count` messages of the user,
 * newest last. Use it if users ask follow-up questions such as "And in winter?".
 */
export function recentQuestions(count = 2): NonNullable<RetrievalOptions['query']> {
  checkFields('recentQuestions()', { count }, { count: natural });
  return (_input, { messages }) =>
    messages
      .filter((message) => message.role === 'user' && metadataOf(message).origin !== 'program')
      .slice(-count)
      .map(textOf)
      .join('\n');
}

function searchTool(options: RetrievalOptions, report: ReportFailure): Tool {
  const {
    name = 'search_documents',
    description = 'Searches the documents that your answers must be based on. Use it before you answer from memory. If nothing fits, search again with other words.',
  } = options.tool ?? {};
  const query = { type: 'string', description: 'What to look for: a question, or its key words.' };
  return tool({
    name,
    description,
    input: {
      type: 'object',
      properties: { query },
      required: ['query'],
      additionalProperties: false,
    },
    // The search has a time limit of its own.
    timeoutMs: timerMs(Infinity),
    replay: 'safe',
    async execute(input, { sessionId, signal, messages, get }) {
      const queryText = queryIn(input);
      const call = { sessionId, signal, messages, get };
      const searching = findDocuments(options, call, () => queryText, report);
      const resultText = await searching.catch((cause: unknown) => {
        if (!signal.aborted) report(cause);
        // Throws an error without a code, because some error codes of a retriever would end the
        // agent call. The message does not quote the retriever, because the model gets the message.
        throw new Error('The documents could not be searched.', { cause });
      });
      return resultText || 'Nothing was found.';
    },
  });
}

/** Returns the query of a model. Throws `INVALID_INPUT`, and the model gets the message. */
function queryIn(input: unknown): string {
  const { query } = fieldsOf(input);
  if (typeof query === 'string' && query.trim()) return query.trim();
  throw new AgentError('INVALID_INPUT', 'query: a string that is not empty');
}
