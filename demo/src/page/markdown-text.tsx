import { memo, useEffect, useState } from 'react';
import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { MarkdownBlocks } from './markdown-blocks.ts';

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

/** Time without new text after which all of the text is shown. */
const stillMs = 250;

/**
 * Shows the Markdown of an answer. HTML in it is shown as text. While the text grows, only its end
 * is rendered again.
 */
export const MarkdownText = memo(function MarkdownText({ text }: MarkdownTextProps) {
  const [splitter] = useState(() => new MarkdownBlocks());
  const [stillText, setStillText] = useState('');
  const { blocks, isStale } = splitter.split(text, text === stillText);
  useEffect(() => {
    if (!isStale) return undefined;
    const timer = setTimeout(() => setStillText(text), stillMs);
    return () => clearTimeout(timer);
  }, [text, isStale]);
  return blocks.map((block, index) => <Block key={index} text={block} />);
});

const Block = memo(function Block({ text }: MarkdownTextProps) {
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
