/** The editor and the difference of documents: loaded when the first one is shown. */

import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from './states.tsx'
import type { CodeDiffProps } from './code-diff.tsx'
import type { CodeEditorProps } from './code-editor.tsx'

export const Editor = later<CodeEditorProps>(async () => (await import('./code-editor.tsx')).CodeEditor)
export const Diff = later<CodeDiffProps>(async () => (await import('./code-diff.tsx')).CodeDiff)

function later<Props extends object>(load: () => Promise<FunctionComponent<Props>>): FunctionComponent<Props> {
  return function Later(props: Props) {
    const [found, setFound] = useState<{ View: FunctionComponent<Props> } | null>(null)
    useEffect(() => {
      void load().then((View) => setFound({ View }))
    }, [])
    return found === null ? <Skeleton /> : <found.View {...props} />
  }
}
