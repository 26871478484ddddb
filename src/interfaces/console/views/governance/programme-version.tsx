/** Documents that a programme takes: for a new API, or as the next version of one. */

import { useState } from 'preact/hooks'
import { fromBase64, toBase64 } from '../../api/base64.ts'
import { change, read } from '../../api/client.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { Diff, Editor } from '../../parts/code.tsx'
import type { Finding } from '../../parts/code-editor.tsx'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { texts } from '../../texts.ts'

const words = texts.programmes
const EMPTY = 'openapi: 3.1.0\ninfo:\n  title: Orders\n  version: 1.0.0\npaths: {}\n'

interface NewVersionProps {
  readonly id: string
  /** Why the last version failed. */
  readonly findings: readonly Finding[]
  readonly onSent: () => void
}

export function NewVersion({ id, findings, onSent }: NewVersionProps) {
  return (
    <DialogButton label={words.newVersion} isWide>
      {(close) => (
        <Version
          id={id}
          findings={findings}
          onSent={() => {
            close()
            notify(words.sent)
            onSent()
          }}
        />
      )}
    </DialogButton>
  )
}

function Version({ id, findings, onSent }: NewVersionProps) {
  const reading = useLoaded(id, async (signal) => {
    const { specification } = await read('/v1/programmes/:id', { params: { id }, signal })
    return { before: fromBase64(specification) }
  })
  return (
    <Loaded reading={reading}>
      {({ before }) => <VersionForm id={id} findings={findings} before={before} onSent={onSent} />}
    </Loaded>
  )
}

function VersionForm({ id, findings, before, onSent }: NewVersionProps & { readonly before: string }) {
  const [text, setText] = useState(before)
  const [isDiff, setDiff] = useState(false)
  const send = async (): Promise<void> => {
    await change('PUT /v1/programmes/:id', { id }, { specification: toBase64(text) })
    onSent()
  }
  return (
    <Form submit={words.send} isDisabled={text === before} onSubmit={send}>
      <FileField onText={setText} />
      <p>
        <button type="button" aria-pressed={isDiff} onClick={() => setDiff(!isDiff)}>
          {words.difference}
        </button>
      </p>
      {isDiff ? (
        <Diff before={before} after={text} />
      ) : (
        <Editor label={words.document} value={text} onChange={setText} {...(text === before && { findings })} />
      )}
    </Form>
  )
}

export function NewProgramme() {
  const [name, setName] = useState('')
  const [text, setText] = useState(EMPTY)
  const [backend, setBackend] = useState('')
  const create = async (): Promise<void> => {
    const body = { name, specification: toBase64(text), ...(backend !== '' && { backend: { url: backend } }) }
    const { id } = await change('POST /v1/programmes', {}, body)
    go(`governance/programmes/${encodeURIComponent(id)}`)
  }
  return (
    <Form submit={words.create} onSubmit={create}>
      <p class="quiet">{words.lead}</p>
      <TextField label={words.name} value={name} isRequired lengthMax={128} onChange={setName} />
      <TextField label={words.backend} hint={words.backendHint} type="url" value={backend} onChange={setBackend} />
      <FileField onText={setText} />
      <Editor label={words.document} value={text} onChange={setText} />
    </Form>
  )
}

function FileField({ onText }: { readonly onText: (text: string) => void }) {
  return (
    <label>
      {words.file}
      <input
        type="file"
        accept=".yaml,.yml,.json"
        onChange={async ({ currentTarget }) => {
          const text = await currentTarget.files?.[0]?.text()
          if (text !== undefined) onText(text)
        }}
      />
    </label>
  )
}
