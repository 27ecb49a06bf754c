import { memo } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';

const plugins = [remarkGfm];

const components: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  // Loading an image would tell its server that somebody reads the answer.
  img: ({ src, alt }) => <Link href={String(src ?? '')}>{alt || String(src ?? '')}</Link>,
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  table: ({ children }) => (
    <div className="table" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
};

export interface MarkdownTextProps {
  readonly text: string;
}

/** Shows the Markdown of an answer. HTML in it is shown as text. */
export const MarkdownText = memo(function MarkdownText({ text }: MarkdownTextProps) {
  return (
    <Markdown remarkPlugins={plugins} components={components}>
      {text}
    </Markdown>
  );
});

interface LinkProps {
  readonly href: string | undefined;
  readonly children: React.ReactNode;
}

function Link({ href, children }: LinkProps) {
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}
