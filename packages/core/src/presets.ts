export { agentscope } from './preset/agentscope.ts';
export { arcReactor } from './preset/arc-reactor.ts';
export { springAiAlibaba } from './preset/spring-ai-alibaba.ts';
export type { SpringAiAlibabaOptions } from './preset/spring-ai-alibaba.ts';
export { oxygent } from './preset/oxygent.ts';
export type { OxygentOptions } from './preset/oxygent.ts';
