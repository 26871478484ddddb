/**
 * A document of settings in JSON: as a form of its common fields or as text, saved after a look at the difference.
 *
 * If another person has changed it in the meantime, the view says so and keeps the draft, compared with the newer version.
 */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CallRefused, type Problem, type Version } from '../api/client.ts'
import { useLoaded } from '../api/use-loaded.ts'
import { query, setQuery } from '../router.ts'
import { texts } from '../texts.ts'
import { Diff, Editor } from './code.tsx'
import type { Finding } from './code-editor.tsx'
import { DialogButton, Form } from './dialog.tsx'
import { lineAt, linesOf } from './json-lines.ts'
import { Loaded } from './states.tsx'
import { notify } from './toast.tsx'
import { faultAt } from './fault-at.ts'

export interface JsonDocumentProps<Value> {
  /** Identifies the document. */
  readonly id: string
  readonly label: string
  /** An empty `etag` stands for a document that is not made yet. */
  readonly load: (signal: AbortSignal) => Promise<Version<Value>>
  /** Begins with this text instead of what was loaded. */
  readonly draft?: Value
  /** Throws `CallRefused`, with the status 412 if the version is not the current one. Without an `etag` the last write wins. */
  readonly save: (value: Value, etag: string | undefined) => Promise<unknown>
  readonly verb: string
  readonly saved: string
  readonly mayChange: boolean
  /** Without it the document is edited as text alone. */
  readonly form?: (value: Value, change: (value: Value) => void, faultAt: FaultAt) => ComponentChildren
  /** A remark on the change, shown before it is made. */
  readonly warn?: (before: Value, after: Value) => string | null
}

/** Why the service has refused the value at a pointer. */
type FaultAt = (pointer: string) => string | undefined

const words = texts.documents
const CHANGED_MEANWHILE = 412

export function JsonDocument<Value extends object>(props: JsonDocumentProps<Value>) {
  const reading = useLoaded(props.id, props.load)
  return (
    <Loaded reading={reading}>
      {(version) => <Draft key={props.id} {...props} first={version as Version<Value>} />}
    </Loaded>
  )
}

interface DraftProps<Value> extends JsonDocumentProps<Value> {
  readonly first: Version<Value>
}

function Draft<Value extends object>(props: DraftProps<Value>) {
  const { label, mayChange, form } = props
  const { base, text, setText, errors, isConflict, save } = useDraft(props)
  const parsed = parse<Value>(text)
  const isText = form === undefined || parsed.value === null || query.value.get('as') === 'text'
  const shown = parsed.fault === null ? toFindings(errors, text) : [parsed.fault]
  return (
    <>
      {isConflict && (
        <p class="notice" role="alert">
          {words.conflict}
        </p>
      )}
      {form !== undefined && <Toggle isText={isText} isDisabled={parsed.value === null} />}
      {isText ? (
        <Editor label={label} value={text} findings={shown} {...(mayChange && { onChange: setText })} />
      ) : (
        <fieldset class="plain form" disabled={!mayChange}>
          {form(
            parsed.value,
            (value) => setText(print(value)),
            (pointer) => faultAt(errors, pointer),
          )}
        </fieldset>
      )}
      <Findings findings={shown} />
      {mayChange && (
        <p class="toolbar">
          <Review {...props} base={base} after={parsed.value} text={text} save={save} />
          {base.etag !== '' && text !== print(base.data) && (
            <button type="button" onClick={() => setText(print(base.data))}>
              {words.discard}
            </button>
          )}
        </p>
      )}
    </>
  )
}

interface DraftState<Value> {
  readonly base: Version<Value>
  readonly text: string
  readonly setText: (text: string) => void
  readonly errors: Problem['errors']
  readonly isConflict: boolean
  /** Returns whether the dialog may close. Throws `CallRefused`. */
  readonly save: (value: Value) => Promise<void>
}

function useDraft<Value extends object>({ first, draft, load, save, saved }: DraftProps<Value>): DraftState<Value> {
  const [base, setBase] = useState(first)
  const [text, change] = useState(print(draft ?? first.data))
  const [errors, setErrors] = useState<Problem['errors']>([])
  const [isConflict, setConflict] = useState(false)
  const setText = (next: string): void => {
    change(next)
    setErrors([])
  }
  /** Takes the current version as the one to compare with. */
  const rebase = async (): Promise<Version<Value>> => {
    const next = await load(new AbortController().signal)
    setBase(next)
    return next
  }
  useEffect(() => {
    // A page that is opened again has read a newer version, and no draft is lost by showing it.
    if (first.etag !== base.etag && text === print(base.data)) {
      setBase(first)
      change(print(first.data))
    }
  }, [first.etag])
  return {
    ...{ base, text, setText, errors, isConflict },
    save: async (value) => {
      try {
        await save(value, base.etag === '' ? undefined : base.etag)
      } catch (cause) {
        if (!(cause instanceof CallRefused)) throw cause
        if (cause.problem.status !== CHANGED_MEANWHILE) {
          setErrors(cause.problem.errors)
          throw cause
        }
        await rebase()
        setConflict(true)
        return
      }
      setConflict(false)
      const before = base.data
      if (base.etag === '') return notify(saved)
      const made = await rebase()
      change(print(made.data))
      notify(saved, async () => {
        await save(before, made.etag)
        change(print((await rebase()).data))
      })
    },
  }
}

function Toggle({ isText, isDisabled }: { readonly isText: boolean; readonly isDisabled: boolean }) {
  return (
    <p class="toolbar" role="group" aria-label={words.view}>
      <button type="button" aria-pressed={!isText} disabled={isDisabled} onClick={() => setQuery({ as: '' })}>
        {words.asForm}
      </button>
      <button type="button" aria-pressed={isText} onClick={() => setQuery({ as: 'text' })}>
        {words.asText}
      </button>
    </p>
  )
}

interface ReviewProps<Value> extends Pick<JsonDocumentProps<Value>, 'verb' | 'warn'> {
  readonly base: Version<Value>
  readonly after: Value | null
  readonly text: string
  readonly save: (value: Value) => Promise<void>
}

function Review<Value extends object>({ base, after, text, verb, warn, save }: ReviewProps<Value>) {
  const before = print(base.data)
  if (after === null || text === before) {
    return (
      <button type="button" class="main" disabled>
        {words.review}
      </button>
    )
  }
  const warning = warn?.(base.data, after) ?? null
  return (
    <DialogButton label={words.review} isMain isWide>
      {(close) => (
        <Form submit={verb} onSubmit={async () => save(after).then(close)}>
          <Diff before={before} after={text} />
          {warning !== null && <p class="notice">{warning}</p>}
        </Form>
      )}
    </DialogButton>
  )
}

/** The same findings as text, for those who cannot point at a line. */
export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  return (
    <ul class="finding-list" aria-live="polite">
      {findings.map(({ line, severity, message }) => (
        <li key={`${line} ${message}`}>
          {words.severities[severity]} <span class="quiet">{words.atLine(line)}</span> <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  )
}

function toFindings(errors: Problem['errors'] = [], text: string): readonly Finding[] {
  const lines = linesOf(text)
  return errors.map(({ pointer, detail }) => ({ line: lineAt(lines, pointer), severity: 'error', message: detail }))
}

function print(value: object): string {
  return JSON.stringify(value, null, 2)
}

function parse<Value>(text: string): { readonly value: Value | null; readonly fault: Finding | null } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { value: value as Value, fault: null }
    return { value: null, fault: { line: 1, severity: 'error', message: words.noObject } }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : ''
    const [, line] = /line (\d+)/.exec(message) ?? []
    return { value: null, fault: { line: Number(line ?? 1), severity: 'error', message: words.noJson(message) } }
  }
}
