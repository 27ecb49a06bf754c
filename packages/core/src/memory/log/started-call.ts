import type { Tool } from '../../tool/tool.ts';

/**
 * What a resume does with a tool call whose tool may have started and left no result. `run`: the
 * tool runs again. `close`: the tool call gets an `interrupted` result. `ask`: somebody decides.
 */
export function resumeOfStarted({ replay = 'never' }: Tool): 'run' | 'close' | 'ask' {
  const rules = { safe: 'run', never: 'close', ask: 'ask' } as const;
  return rules[replay];
}
