import { expect, test } from 'vitest';
import { missingRefusals, type TestedEntry, type Wrong } from '../../../test/unknown-options.ts';
import { handlersIn } from './hooks/use-agent-chat.ts';
import * as react from './index.ts';
import * as object from './object/index.ts';

const entries: Readonly<Record<string, TestedEntry>> = {
  './index': {
    exports: react,
    calls: {
      agentEndpoint: (wrong) => react.agentEndpoint('/api/chat', wrong),
      useAgentChat: (wrong) => handlersIn(wrong),
      useOperatorMessages: (wrong) => react.useOperatorMessages(undefined, 's', wrong),
      useMovableSession: (wrong) => react.useMovableSession({} as Wrong, 's', wrong),
    },
    others: { data: 'getToolName isToolUIPart useAgentEvents' },
  },
  // Their tests show it for an endpoint. A worker's connection refuses the options itself.
  './object': { exports: object, others: { React: 'useAgentObject', data: 'useChatObject' } },
};

const refusal = /has no option `misspelled`|, not misspelled\./;

test.for(Object.entries(entries))(
  'each function of %s refuses an option that it does not have',
  async ([, entry]) => {
    expect(await missingRefusals(entry, refusal)).toEqual([]);
  },
);
