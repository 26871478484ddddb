/** A document for an API: pasted or from a file, checked with findings at their lines, then staged. The first one also serves. */

import { useMemo, useState } from 'preact/hooks'
import type { Finding } from '../../parts/code-editor.tsx'
import { Editor } from '../../parts/code.tsx'
import { ActionButton, Form } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/fields.tsx'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { EMPTY_BACKEND, toInput } from './backend-draft.ts'
import { BackendFields } from './backend-fields.tsx'
import { Report } from './validation-report.tsx'
import { useStaging, type StagingOf, type Validation } from './use-staging.ts'

const words = texts.apis.publish

const FILE_BYTES_MAX = 16 * 1_024 * 1_024

export function StageForm(props: StagingOf) {
  const { api } = props
  const staging = useStaging(props)
  const { document, target, faults, report, previous, edit } = staging
  const [backend, setBackend] = useState(EMPTY_BACKEND)
  const stored = props.proxy?.backend ?? null
  const [line, setLine] = useState<number | undefined>(undefined)
  const findings = useMemo(() => [...faults, ...findingsOf(report)], [faults, report])
  const isEmpty = document.trim() === ''
  return (
    <Form
      submit={api === null ? words.submit : words.stage}
      isDisabled={isEmpty}
      onSubmit={() => staging.submit(toInput(backend, stored))}
    >
      <p>{api === null ? words.lead : words.stageLead}</p>
      <FileField onRead={edit} />
      <Editor label={words.document} value={document} onChange={edit} findings={findings} {...(line && { line })} />
      {may('programmes:read') && <ActionButton label={words.check} isDisabled={isEmpty} onClick={staging.check} />}
      {report !== null && <Report report={report} isCompared={previous !== null} onLine={setLine} />}
      {faults.length > 0 && <Faults faults={faults} onLine={setLine} />}
      {api === null && (
        <TextField label={words.name} hint={words.nameHint} value={target} onChange={staging.setName} isRequired />
      )}
      <BackendFields
        draft={backend}
        onChange={setBackend}
        stored={stored}
        hint={api === null ? words.backendHint : words.backendStays}
        faultAt={staging.faultAt}
      />
    </Form>
  )
}

function FileField({ onRead }: { readonly onRead: (text: string) => void }) {
  const [fault, setFault] = useState('')
  const read = async (file: File | undefined): Promise<void> => {
    setFault('')
    if (file === undefined) return
    if (file.size > FILE_BYTES_MAX) return setFault(words.fileTooLarge)
    onRead(await file.text())
  }
  return (
    <label>
      {words.file}
      <input
        type="file"
        accept=".json,.yaml,.yml,application/json,application/yaml"
        onChange={({ currentTarget }) => read(currentTarget.files?.[0])}
      />
      {fault !== '' && <span role="alert">{fault}</span>}
    </label>
  )
}

function Faults({ faults, onLine }: { readonly faults: readonly Finding[]; readonly onLine: (line: number) => void }) {
  return (
    <ul class="members">
      {faults.map(({ line, message }, index) => (
        <li key={index}>
          <button type="button" class="id" onClick={() => onLine(line)}>
            {words.line(line)}
          </button>{' '}
          <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  )
}

function findingsOf(report: Validation | null): readonly Finding[] {
  return (report?.findings ?? []).map(({ line, severity, message }) => ({ line, severity, message }))
}
