/** A document in an editor, with findings at their lines. */

import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint'
import { EditorView } from '@codemirror/view'
import { useEffect, useRef } from 'preact/hooks'
import { languageOf, setup } from './code-setup.ts'

export interface Finding {
  /** From 1. */
  readonly line: number
  /** From 1; without it the whole line is marked. */
  readonly column?: number
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
}

export interface CodeEditorProps {
  readonly label: string
  /** A new value replaces the document. */
  readonly value: string
  /** Without it the document cannot be changed. */
  readonly onChange?: (value: string) => void
  readonly findings?: readonly Finding[]
  /** The line that is shown first, from 1. */
  readonly line?: number
  /** The column on this line, from 1. */
  readonly column?: number
}

export function CodeEditor({ label, value, onChange, findings = [], line, column = 1 }: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const changed = useRef(onChange)
  changed.current = onChange
  /** Texts that were typed and have not come back as `value` yet: while a person types, `value` is behind. */
  const typed = useRef<string[]>([])
  const isReplacing = useRef(false)

  useEffect(() => {
    if (place.current === null) return undefined
    const listener = EditorView.updateListener.of(({ docChanged, state }) => {
      if (!docChanged || isReplacing.current || changed.current === undefined) return
      const text = state.doc.toString()
      typed.current.push(text)
      changed.current(text)
    })
    const extensions = [setup(label, languageOf(value), onChange === undefined), lintGutter(), listener]
    const made = new EditorView({ doc: value, extensions, parent: place.current })
    view.current = made
    return () => made.destroy()
  }, [])

  useEffect(() => {
    const { current } = view
    const index = typed.current.lastIndexOf(value)
    typed.current = typed.current.slice(index + 1)
    if (current === null || index >= 0 || current.state.doc.toString() === value) return
    typed.current = []
    isReplacing.current = true
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } })
    isReplacing.current = false
  }, [value])

  useEffect(() => {
    const { current } = view
    if (current === null) return
    current.dispatch(
      setDiagnostics(
        current.state,
        findings.map((each) => toDiagnostic(each, current)),
      ),
    )
  }, [findings])

  useEffect(() => {
    const { current } = view
    if (current === null || line === undefined) return
    const found = lineOf(current, line)
    const at = Math.min(found.from + column - 1, found.to)
    current.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) })
  }, [line, column])

  return <div ref={place} class="code" />
}

/** Characters that are marked: a document may be one long line. */
const MARKED_MAX = 60

function toDiagnostic({ line, column, severity, message }: Finding, view: EditorView): Diagnostic {
  const found = lineOf(view, line)
  const from = column === undefined ? found.from : Math.min(found.from + column - 1, found.to)
  const to = column === undefined ? found.to : Math.min(from + MARKED_MAX, found.to)
  return { from, to, severity, message }
}

/** A line that the document does not have is its last one. */
function lineOf({ state: { doc } }: EditorView, line: number) {
  return doc.line(Math.min(Math.max(1, line), doc.lines))
}
