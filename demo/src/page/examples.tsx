import type { ToggleEvent } from 'react';
import { offlineWindow } from '../context-window.ts';
import type { Home } from './settings.ts';

/**
 * What an example does instead of a question: opens a long conversation, or the form of an object.
 */
export type ExampleAct = 'history' | 'object';

export interface ExamplesProps {
  readonly home: Home;
  readonly onExample: (text: string) => void;
  /** Absent while nothing can answer. */
  readonly onAct: ((act: ExampleAct) => void) | undefined;
}

interface Example {
  readonly pattern: string;
  readonly text: string;
  readonly lang: string;
  /** What to do while it runs. */
  readonly hint?: string;
  readonly act?: ExampleAct;
  /** Whether it only works in this tab's worker. */
  readonly here?: true;
  /** The lines of code behind it. */
  readonly code: string;
}

const patterns: readonly Example[] = [
  {
    pattern: 'Kill it, and it continues',
    text: 'What time is it in Tokyo, Paris and Cairo? And how do you survive a killed worker?',
    lang: 'en',
    hint: 'Press the red button while it runs.',
    code: `// worker.ts
exposeAgent(({ sessionId, memory }) =>
  new ReActAgent({ name: 'assistant', model, memory, sessionId, tools }));

// page.tsx
const chat = useAgentChat(agentWorker(worker), { sessionId });
// A new worker continues the run from the log in IndexedDB.`,
  },
  {
    pattern: 'Two tools at once',
    text: 'What is 17 * 23, and what time is it in Tokyo?',
    lang: 'en',
    code: `const agent = new ReActAgent({
  name: 'assistant',
  model,
  tools: [calculator, timeInCity],
});
// Calls of one reply run at the same time.
agent.stream('What is 17 * 23, and what time is it in Tokyo?');`,
  },
  {
    pattern: 'An approval with an edit',
    text: 'Pay 30 coins to Alice',
    lang: 'en',
    hint: 'Change the number of coins before you allow it.',
    code: `const pay = tool({
  name: 'pay',
  description: 'Pays coins of play money to somebody.',
  input: z.object({ to: z.string(), coins: z.number().int() }),
  // A person decides about each call.
  needsApproval: true,
  execute: ({ to, coins }) => account.pay(to, coins),
});
// page.tsx
approval.edit({ to: 'Alice', coins: 25 });`,
  },
  {
    pattern: 'An object that fills in',
    text: 'Read an invitation into a form',
    lang: 'en',
    act: 'object',
    code: `// worker.ts
exposeAgent(factory, { outputs: { invitation: structured(invitation) } });

// page.tsx
const { object, submit } = useAgentObject<Invitation>(agentWorker(worker), {
  output: 'invitation',
});
// Each field shows as soon as the model has written it.
<output>{object?.day ?? '…'}</output>
<button onClick={() => submit(letter)}>Read it</button>`,
  },
];

const further: readonly Example[] = [
  {
    pattern: 'A plan with a to-do list',
    text: 'Plan: work out 12 * (3 + 4), then find the time in Tokyo and Cairo',
    lang: 'en',
    code: `import { todoList, todosOf } from '@isoloop/core/results';

const agent = new ReActAgent({
  name: 'assistant',
  model,
  tools,
  // Adds the tool write_todos, and keeps the list in view of the model.
  use: [todoList()],
});
// The newest list, also after a crash: it is in the log.
todosOf((await memory.view()).messages);`,
  },
  {
    pattern: 'A long history that is fitted',
    text: 'Open a diary of 80 days, which is too long for the model, and ask something',
    lang: 'en',
    act: 'history',
    code: `import { fitContext } from '@isoloop/core/context';

const agent = new ReActAgent({
  name: 'assistant',
  model, // its window has ${offlineWindow.toLocaleString('en')} tokens
  memory,
  // Leaves the oldest messages out of the request. The log keeps them.
  use: [fitContext()],
});
for await (const event of agent.stream(question))
  if (event.type === 'context-fitted') show(event.removed, event.before, event.after);`,
  },
  {
    pattern: 'A tool of the page',
    text: 'How large is my window?',
    lang: 'en',
    here: true,
    code: `// page.tsx
const windowSize = tool({
  name: 'window_size',
  description: 'Width and height of the window, in pixels.',
  input: z.object({}),
  execute: () => ({ width: innerWidth, height: innerHeight }),
});
const page = [pageTools([windowSize])];
const chat = useAgentChat(agentWorker(worker, { page }), { sessionId });
// worker.ts: the agent calls it like its own tools.
exposeAgent(({ page }) => new ReActAgent({ /* … */ tools: page.tools }));`,
  },
  {
    pattern: 'Chinese, Japanese, Korean',
    text: '東京とパリは今何時ですか？',
    lang: 'ja',
    code: `// The estimate of tokens knows the scripts of Chinese, Japanese and Korean.
import { estimateTokens } from '@isoloop/core/tokens';
estimateTokens('東京とパリは今何時ですか？');

const agent = new ReActAgent({ /* … */ use: [fitContext({ window: 128_000 })] });`,
  },
  {
    pattern: 'Move to the edge',
    text: 'What is 6 * 7?',
    lang: 'en',
    hint: 'Then choose the edge at the top of the page, and ask something else.',
    here: true,
    code: `import { browserPlace, endpointPlace, movableSessions } from '@isoloop/web-worker/move';

const conversations = movableSessions({
  worker: browserPlace,
  edge: endpointPlace('https://example.com/api/chat'),
});
await conversations.moveTo(sessionId, 'edge', { whenRunning: 'wait' });`,
  },
];

const more: readonly Pick<Example, 'text' | 'lang'>[] = [
  { text: 'Dark mode, please', lang: 'en' },
  { text: 'Work out 12 * (3 + 4) and note the result', lang: 'en' },
  { text: '记一下：明天给妈妈打电话', lang: 'zh' },
  { text: '(48 + 72) / 5는 얼마예요? 서울은 지금 몇 시예요?', lang: 'ko' },
];

const places: Readonly<Record<Home, string>> = {
  worker: 'The agent runs in a Web Worker of this tab, and this browser stores the conversation.',
  edge: 'The agent runs in a Cloudflare Worker, and a Durable Object stores the conversation.',
};

export function Examples(props: ExamplesProps) {
  const { home, onExample } = props;
  return (
    <div className="welcome">
      <h2>Ask something. Then kill the agent: it goes on.</h2>
      <p>{places[home]} Nothing has to be set up.</p>
      <Patterns {...props} patterns={patterns} />
      <details className="further" onToggle={showOpened}>
        <summary>More</summary>
        <Patterns {...props} patterns={further} />
        <ul className="more" aria-label="More examples">
          {more.map(({ text, lang }) => (
            <li key={text}>
              <button type="button" lang={lang} onClick={() => onExample(text)}>
                {text}
              </button>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** Scrolls to what opens below the visible part of the list. */
function showOpened({ target, currentTarget }: ToggleEvent<HTMLDetailsElement>): void {
  if (target === currentTarget && currentTarget.open) currentTarget.scrollIntoView();
}

interface PatternsProps extends ExamplesProps {
  readonly patterns: readonly Example[];
}

function Patterns({ home, onExample, onAct, patterns: given }: PatternsProps) {
  const isHere = home === 'worker';
  const shown = given.filter(({ act, here }) => isHere || (act !== 'object' && !here));
  return (
    <ul className="patterns">
      {shown.map(({ pattern, text, lang, hint, act, code }) => (
        <li key={pattern}>
          <h3>{pattern}</h3>
          <button type="button" lang={lang} onClick={() => (act ? onAct?.(act) : onExample(text))}>
            {text}
          </button>
          {hint && <p className="hint">{hint}</p>}
          <details>
            <summary>Code</summary>
            <pre tabIndex={0} dir="ltr">
              <code>{code}</code>
            </pre>
          </details>
        </li>
      ))}
    </ul>
  );
}
