export { agentscope } from './preset/agentscope.ts';
export { arcReactor } from './preset/arc-reactor.ts';
export { arcReactorTrim } from './preset/arc-reactor-trim.ts';
export { springAiAlibaba, type SpringAiAlibabaOptions } from './preset/spring-ai-alibaba.ts';
export { oxygent, type OxygentOptions } from './preset/oxygent.ts';
export { oxygentHistory } from './preset/oxygent-history.ts';
export { friendlyErrors, parallelIds, reactMemory } from './preset/oxygent-events.ts';
export { positionHooks, type PositionHook } from './preset/position-hooks.ts';
