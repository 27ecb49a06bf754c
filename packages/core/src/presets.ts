export { agentscope } from './agent/agentscope.ts';
export { arcReactor } from './agent/arc-reactor.ts';
export { springAiAlibaba } from './agent/spring-ai-alibaba.ts';
export type { SpringAiAlibabaOptions } from './agent/spring-ai-alibaba.ts';
export { oxygent } from './agent/oxygent.ts';
export type { OxygentOptions } from './agent/oxygent.ts';
