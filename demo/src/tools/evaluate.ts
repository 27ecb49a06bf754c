/**
 * Precedence of the binary operators. A higher number binds more tightly. `^` is right-associative.
 */
const precedence: Readonly<Record<string, number>> = {
  '+': 1,
  '-': 1,
  '*': 2,
  '/': 2,
  '%': 2,
  '^': 3,
};

/**
 * Evaluates an arithmetic expression with numbers, + - * / % ^, parentheses and signs. Accepts ×
 * ÷ and full-width characters. Throws an `Error` that says what is wrong.
 */
export function evaluate(expression: string): number {
  const tokens = tokenize(expression);
  let position = 0;

  const operand = (): number => {
    const token = tokens[position++];
    if (token === undefined) throw new Error('The expression is incomplete.');
    if (token === '-') return -binary(3);
    if (token === '+') return binary(3);
    if (token === '(') {
      const value = binary(1);
      if (tokens[position++] !== ')') throw new Error('A closing parenthesis is missing.');
      return value;
    }
    const value = Number(token);
    if (Number.isNaN(value)) throw new Error(`"${token}" is not allowed here.`);
    return value;
  };

  const binary = (least: number): number => {
    let left = operand();
    for (let operator = tokens[position]; operator !== undefined; operator = tokens[position]) {
      const own = precedence[operator];
      if (own === undefined || own < least) break;
      position += 1;
      left = apply(operator, left, binary(operator === '^' ? own : own + 1));
    }
    return left;
  };

  const value = binary(1);
  if (position < tokens.length) throw new Error(`"${tokens[position]}" is not allowed here.`);
  if (!Number.isFinite(value)) throw new Error('The result is not a finite number.');
  return Number(value.toPrecision(12));
}

function tokenize(expression: string): readonly string[] {
  const text = expression
    .normalize('NFKC')
    .replaceAll('×', '*')
    .replaceAll('÷', '/')
    .replace(/(\d),(?=\d{3}\b)/g, '$1');
  const tokens = text.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  if (tokens.length > 200) throw new Error('The expression is too long.');
  return tokens;
}

function apply(operator: string, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return left % right;
    default:
      return left ** right;
  }
}
