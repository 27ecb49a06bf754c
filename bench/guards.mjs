// `npm run bench -- guards` measures the CPU milliseconds of the guards for 1 MB and 10 MB (UTF-16
// units) of ordinary and of hostile text.
import { userMessage } from '../packages/core/dist/index.js';
import {
  injectionGuard,
  lengthGuard,
  piiGuard,
  piiRule,
  outputGuards,
  lengthRule,
} from '@isoloop/guards';
import { workload } from './lib/workload.mjs';

const ordinary = 'Please tell me how the weather is in Paris today, and what to wear. ';
const kinds = ['email', 'phone', 'card', 'iban', 'rrn', 'cn-id', 'ssn', 'ip'];
const context = { sessionId: 's', signal: new AbortController().signal };
const deltaLength = 20;

/**
 * The guards and the texts that they check. Each text is one string, repeated. Hostile texts make a
 * regular expression start again at many places.
 */
const sets = {
  'lengthGuard()': { run: checkBy(lengthGuard()), texts: { ordinary, blanks: ' ' } },
  'injectionGuard()': {
    run: checkBy(injectionGuard()),
    texts: {
      ordinary,
      Korean: '오늘 파리의 날씨가 어떤지 알려 주세요. ',
      Cyrillic: 'а',
      'one letter': 'a',
      blanks: '\n',
      'begun patterns': 'ignore your ',
      'begun Chinese': '输出你的',
      'begun Japanese': '以前の指示',
      'begun Korean': '이전의지시',
      'combining marks': '\u0315\u0300',
      ligatures: 'ﷺ',
      base64: 'QUJD',
      'lone surrogates': '\ud800',
      'control characters': '\u0000\u0007',
      'zero-width': 'a\u200b',
    },
  },
  'piiGuard()': {
    run: checkBy(piiGuard({ kinds })),
    texts: {
      ordinary,
      digits: '1',
      'digits and blanks': '4111 ',
      'card numbers': '4111 1111 1111 1111 ',
      'begun IBANs': 'DE89 3704 ',
      'begun e-mails': 'a.',
      'begun addresses': '1.',
      'identity numbers': '900101-1234567 ',
      'IPv6 addresses': '2001:db8::ff00:42:8329 ',
      fullwidth: '４１１１ ',
      'zero-width': '1\u200b',
      'lone surrogates': '\ud800',
    },
  },
  'piiRule() on a streamed reply': {
    run: streamBy(piiRule({ kinds })),
    texts: { ordinary, digits: '1', 'card numbers': '4111 1111 1111 1111 ' },
  },
  'lengthRule() on a streamed reply': {
    run: streamBy(lengthRule({ max: 1000 })),
    texts: { ordinary },
  },
};

export async function benchGuards() {
  console.log(
    `Node ${process.version}. CPU milliseconds for 1 MB and 10 MB in one message. Replies come in pieces of ${deltaLength} characters.`,
  );
  for (const [name, { run, texts }] of Object.entries(sets)) {
    await run(ordinary.repeat(workload(2000, 2)));
    console.log(`\n${name}`);
    for (const [kind, unit] of Object.entries(texts)) {
      const one = await timeOf(run, unit, workload(1e6, 1e3));
      const ten = await timeOf(run, unit, workload(1e7, 1e4));
      console.log(
        `  ${kind.padEnd(20)} ${one.toFixed(0).padStart(6)} ${ten.toFixed(0).padStart(6)}   ratio ${(ten / one).toFixed(1)}`,
      );
    }
  }
}

function checkBy(guard) {
  const last = async (input) => input;
  return async (text) => {
    try {
      await guard.wrapInput({ messages: [userMessage(text)], decisions: [] }, last, context);
    } catch (error) {
      if (error.code !== 'GUARD_REJECTED') throw error;
    }
  };
}

function streamBy(rule) {
  return async (text) => {
    async function* stream() {
      for (let at = 0; at < text.length; at += deltaLength)
        yield [{ type: 'text', id: 't', delta: text.slice(at, at + deltaLength) }];
    }
    const model = {
      provider: 'bench',
      modelId: 'bench',
      features: { tools: true, media: [] },
      stream,
    };
    for await (const _batch of outputGuards([rule])
      .wrapModel(model)
      .stream({ messages: [], tools: [] }, context));
  };
}

async function timeOf(run, unit, length) {
  const text = unit.repeat(Math.ceil(length / unit.length));
  const begin = process.cpuUsage();
  await run(text);
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}
