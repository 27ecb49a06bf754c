export { operatorDesk } from './routes/operator-desk.ts';
export type { Operator, OperatorDesk, OperatorDeskOptions } from './routes/operator-desk.ts';
