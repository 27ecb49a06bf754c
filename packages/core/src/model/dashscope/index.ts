export { dashscope } from './dashscope.ts';
export type { DashScopeOptions } from './dashscope.ts';
export type { DashScopeEndpoint } from './dashscope-formatter.ts';
