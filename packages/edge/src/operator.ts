export { operatorDesk } from './routes/operator-desk.ts';
export type { Operator, OperatorDeskOptions } from './routes/operator-desk.ts';
export type { OperatorDesk } from './handler-parts.ts';
