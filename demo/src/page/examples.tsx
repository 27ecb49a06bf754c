import type { Home } from './settings.ts';

export interface ExamplesProps {
  readonly home: Home;
  readonly onExample: (text: string) => void;
}

const examples = [
  { text: 'What is 17 * 23, and what time is it in Tokyo?', lang: 'en' },
  { text: 'Work out 12 * (3 + 4) and note the result', lang: 'en' },
  { text: 'Dark mode, please', lang: 'en' },
  { text: '東京とパリは今何時ですか？', lang: 'ja' },
  { text: '记一下：明天给妈妈打电话', lang: 'zh' },
  { text: '(48 + 72) / 5는 얼마예요? 서울은 지금 몇 시예요?', lang: 'ko' },
] as const;

const places: Readonly<Record<Home, string>> = {
  worker:
    'The agent runs in a Web Worker of this tab. Other tabs join the conversation: one tab runs the agent for all. When that tab closes, another takes over. This browser stores the conversation and your notes.',
  edge: 'The agent runs in a Cloudflare Worker. A Durable Object stores the conversation, Workers KV stores your notes.',
};

export function Examples({ home, onExample }: ExamplesProps) {
  return (
    <div className="welcome">
      <h2>Ask something the agent needs tools for</h2>
      <p>
        It can calculate, tell the time in a city, keep notes and change this page’s theme. Nothing
        has to be set up: the offline rules answer until you choose a model. {places[home]}
      </p>
      <ul>
        {examples.map(({ text, lang }) => (
          <li key={text}>
            <button type="button" lang={lang} onClick={() => onExample(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
