/** The state of a document that is about to be staged: its text, what the service has found in it, and the steps. */

import { useMemo, useState } from 'preact/hooks'
import { CallRefused, change, type Problem } from '../../api/client.ts'
import type { Changes } from '../../api/operations.ts'
import type { Finding } from '../../parts/code-editor.tsx'
import { notify } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { faultAt } from '../../parts/fault-at.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { BackendInput } from './backend-draft.ts'
import { toBase64 } from './base64.ts'
import { readName } from './document-name.ts'
import type { Proxy } from './proxy.ts'
import { useRevisions, useText } from './use-document.ts'

const words = texts.apis.publish

export type Validation = Changes<'POST /v1/programmes/validate'>

export interface StagingOf {
  /** Null: the API is new. */
  readonly api: string | null
  readonly proxy: Proxy | null
  readonly onStaged?: () => void
}

export interface Staging {
  readonly document: string
  /** Name of the API. */
  readonly target: string
  readonly report: Validation | null
  /** Why the service refused the document. */
  readonly faults: readonly Finding[]
  /** The document that serves, which the next one is compared with; null: none, or not read yet. */
  readonly previous: string | null
  readonly edit: (document: string) => void
  readonly setName: (name: string) => void
  /** Throws `CallRefused`, as does `submit`. */
  readonly check: () => Promise<void>
  readonly submit: (backend: BackendInput | undefined) => Promise<void>
  /** Why the service refused another part of the request. */
  readonly faultAt: (pointer: string) => string | undefined
}

export function useStaging({ api, proxy, onStaged }: StagingOf): Staging {
  const [document, setDocument] = useState('')
  const [name, setName] = useState<string | null>(null)
  const [report, setReport] = useState<Validation | null>(null)
  const [errors, setErrors] = useState<Problem['errors']>([])
  const faults = useMemo(() => faultsOf(errors), [errors])
  const previous = useServingText(proxy)
  const derived = useMemo(() => readName(document), [document])
  const target = api ?? name ?? derived

  const noteFaults = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((cause: unknown) => {
      if (cause instanceof CallRefused) setErrors(cause.problem.errors)
      throw cause
    })
  return {
    ...{ document, target, report, faults, previous, setName },
    faultAt: (pointer) => faultAt(errors, pointer),
    edit(text) {
      setDocument(text)
      setReport(null)
      setErrors([])
    },
    async check() {
      const specification = toBase64(document)
      const body = { specification, ...(previous !== null && { previous: toBase64(previous) }) }
      setReport(await noteFaults(change('POST /v1/programmes/validate', {}, body)))
    },
    async submit(backend) {
      const body = { api: target, specification: toBase64(document), ...(backend && { backend }) }
      const { id, stagingRevision } = await noteFaults(change('POST /v1/proxies', {}, body))
      if (api !== null) {
        onStaged?.()
        notify(words.staged(stagingRevision ?? 0))
        return go(`apis/${encodeURIComponent(api)}/revisions`)
      }
      await change('POST /v1/proxies/:id/activate', { id }, {})
      notify(words.published(target))
      go(`apis/${encodeURIComponent(target)}?published`)
    },
  }
}

function useServingText(proxy: Proxy | null): string | null {
  const revisions = useRevisions(proxy?.id)
  const active = revisions.data?.items.find(({ revision }) => revision === proxy?.activeRevision)
  return useText(may('openapispecs:read') ? active?.specification : undefined).data
}

/** At the lines of the document, as far as the service names them. Those of the backend are shown beside its fields. */
function faultsOf(errors: Problem['errors'] = []): readonly Finding[] {
  return errors
    .filter(({ pointer }) => !pointer.startsWith('/backend/'))
    .map(({ line, pointer, detail }) => ({
      line: line ?? 1,
      severity: 'error',
      message: `${pointer} ${detail}`,
    }))
}
