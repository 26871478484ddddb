/** The difference between two documents, with parts that are equal folded. */

import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'
import { texts } from '../texts.ts'
import { languageOf, setup } from './code-setup.ts'

export interface CodeDiffProps {
  readonly before: string
  readonly after: string
}

const words = texts.editor
const NARROW_PX = 900
const COLLAPSE = { margin: 3, minSize: 4 }

/** Beside each other if there is room. */
export function CodeDiff({ before, after }: CodeDiffProps) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { current } = place
    if (current === null) return undefined
    const side = (label: string, doc: string) => ({ doc, extensions: [setup(label, languageOf(doc), true)] })
    const view =
      current.clientWidth < NARROW_PX
        ? new EditorView({
            doc: after,
            extensions: [
              setup(words.after, languageOf(after), true),
              unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: COLLAPSE }),
            ],
            parent: current,
          })
        : new MergeView({
            a: side(words.before, before),
            b: side(words.after, after),
            collapseUnchanged: COLLAPSE,
            parent: current,
          })
    return () => view.destroy()
  }, [before, after])
  return <div ref={place} class="code" />
}
