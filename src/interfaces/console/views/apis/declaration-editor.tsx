/** Edits a declaration: findings at their lines and the plan in words while typing, then the difference, then it is in force. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { toBase64 } from '../../api/base64.ts'
import { CallRefused, change, readVersion, type Problem } from '../../api/client.ts'
import type { Changes } from '../../api/operations.ts'
import { Diff, Editor } from '../../parts/code.tsx'
import type { Finding } from '../../parts/code-editor.tsx'
import { DialogButton, Form, Refusal } from '../../parts/dialog.tsx'
import { Findings } from '../../parts/json-document.tsx'
import { notify } from '../../parts/toast.tsx'
import { texts } from '../../texts.ts'
import { PlanInWords } from './plan-in-words.tsx'

type Check = Changes<'POST /v1/openslaspecs/validate'>

interface DeclarationEditorProps {
  readonly api: string
  readonly first: string
  /** The text in force, which "undo" declares again; null if there is none. */
  readonly previous: string | null
  /** Version of the declarations in force that the text was made from. */
  readonly etag: string
  readonly onDone: () => void
}

const words = texts.declarations
const PAUSE_MS = 400

export function DeclarationEditor({ api, first, previous, etag, onDone }: DeclarationEditorProps) {
  const [text, setText] = useState(first)
  const { check, problem, isCurrent } = useCheck(api, text)
  const findings = useMemo(() => check?.findings.map(toFinding) ?? [], [check])
  const activate = async (): Promise<void> => {
    await declare(api, text, etag)
    // Without the version there is no undo; the declaration is in force nevertheless.
    const next = await readInForce(api).catch(() => null)
    const undo = previous === null || next === null ? null : async () => declare(api, previous, next.etag)
    notify(words.activated(api), undo)
    onDone()
  }
  return (
    <div class="beside">
      <div>
        <Editor label={words.document} value={text} onChange={setText} findings={findings} />
        <Findings findings={findings} />
        <p class="toolbar">
          {isCurrent && check?.plan != null && text !== previous ? (
            <DialogButton label={words.review} isMain isWide>
              {() => (
                <Form submit={words.activate} onSubmit={activate}>
                  <p>{words.consequence(check.plan?.variant ?? null)}</p>
                  {previous !== null && <Diff before={previous} after={text} />}
                </Form>
              )}
            </DialogButton>
          ) : (
            <button type="button" class="main" disabled>
              {words.review}
            </button>
          )}
        </p>
      </div>
      <section aria-label={words.plan} aria-live="polite">
        <h2>{words.plan}</h2>
        {problem !== null && <Refusal problem={problem} />}
        {check !== null && (check.plan === null ? <p>{words.noPlan}</p> : <PlanInWords plan={check.plan} />)}
      </section>
    </div>
  )
}

interface Checked {
  readonly check: Check | null
  readonly problem: Problem | null
  /** Whether the check is that of the text, and not of an earlier one. */
  readonly isCurrent: boolean
}

/** Checks the text after a pause in typing. Answers that arrive late are ignored. */
function useCheck(api: string, text: string): Checked {
  const [found, setFound] = useState<{ text: string; check: Check | null; problem: Problem | null } | null>(null)
  useEffect(() => {
    let isOver = false
    const run = async (): Promise<void> => {
      try {
        const body = { api, specification: toBase64(text) }
        const check = await change('POST /v1/openslaspecs/validate', {}, body, { isTrial: true })
        if (!isOver) setFound({ text, check, problem: null })
      } catch (cause) {
        if (!(cause instanceof CallRefused)) throw cause
        const { problem } = cause
        if (!isOver) setFound((before) => ({ text, check: before?.check ?? null, problem }))
      }
    }
    const timer = setTimeout(() => void run(), found === null ? 0 : PAUSE_MS)
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, [api, text])
  const { check = null, problem = null } = found ?? {}
  return { check, problem, isCurrent: found?.text === text && problem === null }
}

/** Refused if another declaration of the API has come into force since `etag` was read. */
function declare(api: string, text: string, etag: string): Promise<unknown> {
  return change('POST /v1/openslaspecs', {}, { api, specification: toBase64(text) }, { etag })
}

/** The declarations of an API that are in force, with the version that a change of them is compared with. */
export function readInForce(api: string, signal?: AbortSignal) {
  const query = { api, inForce: 'true', limit: '500' }
  return readVersion('/v1/openslaspecs', { query, ...(signal !== undefined && { signal }) })
}

function toFinding({ line, severity, detail }: Check['findings'][number]): Finding {
  return { line: line ?? 1, severity, message: detail }
}
