import { checkFields } from '../../error/options/check-fields.ts';
import { string } from '../../error/options/kinds.ts';
import { messages as messageList } from '../../message/message-kind.ts';
import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

export function promptOf(live: LiveRun): Run['prompt'] {
  return {
    get text() {
      return live.prompt.text;
    },
    get base() {
      return live.prompt.base;
    },
    get messages() {
      return live.prompt.messages;
    },
    set(text) {
      const { prompt } = live.alive();
      checkFields('run.prompt.set()', { text }, { text: string });
      prompt.base = text;
    },
    append(text) {
      const { prompt } = live.alive();
      checkFields('run.prompt.append()', { text }, { text: string });
      prompt.added.push(text);
    },
    include(messages) {
      const { prompt } = live.alive();
      checkFields('run.prompt.include()', { messages }, { messages: messageList });
      prompt.prepended.unshift(...messages);
    },
    includeLast(messages) {
      const { log } = live.writing();
      checkFields('run.prompt.includeLast()', { messages }, { messages: messageList });
      log.conversation.add(messages);
    },
  };
}
