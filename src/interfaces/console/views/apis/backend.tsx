/** The backends of an API: that of the active revision, and that of the staged one, with the ways to change them. */

import { useState } from 'preact/hooks'
import { change } from '../../api/client.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { useFaults } from '../../parts/use-faults.ts'
import { go } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import { backendCommands } from './backend-commands.ts'
import { toDraft, toInput } from './backend-draft.ts'
import { BackendFields } from './backend-fields.tsx'
import { BackendSettings } from './backend-settings.tsx'
import type { Proxy } from './proxy.ts'
import { useProxy } from './use-document.ts'

const words = texts.apis.backend

export function BackendTab({ api: { id } }: ApiTabProps) {
  const reading = useProxy(id)
  return (
    <Loaded reading={reading}>
      {({ proxy }) => (proxy === null ? <p class="empty">{texts.apis.revisions.none}</p> : <Backends proxy={proxy} />)}
    </Loaded>
  )
}

function Backends({ proxy }: { readonly proxy: Proxy }) {
  const { activeRevision, staging, canary } = proxy
  return (
    <>
      {activeRevision !== null && (
        <section class="settings" aria-labelledby="active">
          <h2 id="active">{words.ofActive(activeRevision)}</h2>
          {may('proxies:write') && canary === null && (
            <p class="toolbar">
              <ChangeBackend proxy={proxy} active={activeRevision} />
            </p>
          )}
          <BackendSettings {...proxy} />
        </section>
      )}
      {staging !== null && (
        <section class="settings" aria-labelledby="staged">
          <h2 id="staged">{canary === null ? words.ofStaged(staging.revision) : words.ofCanary(staging.revision)}</h2>
          <BackendSettings {...staging} />
        </section>
      )}
      {may('proxies:write') && <Commands proxy={proxy} />}
    </>
  )
}

interface ChangeProps {
  readonly proxy: Proxy
  readonly active: number
}

function ChangeBackend(props: ChangeProps) {
  return (
    <DialogButton label={words.change} isWide>
      {(close) => <ChangeForm {...props} close={close} />}
    </DialogButton>
  )
}

/** Stages the document of the active revision with another backend. */
function ChangeForm({
  proxy: { api, backend, hasStaging },
  active,
  close,
}: ChangeProps & { readonly close: () => void }) {
  const [draft, setDraft] = useState(toDraft(backend))
  const faults = useFaults()
  const input = toInput(draft, backend)
  const stage = async (): Promise<void> => {
    const body = { api, fromRevision: active, ...(input && { backend: input }) }
    const { stagingRevision } = await faults.keep(async () => change('POST /v1/proxies', {}, body))
    close()
    notify(texts.apis.publish.staged(stagingRevision ?? 0))
    go(`apis/${encodeURIComponent(api)}/revisions`)
  }
  return (
    <Form submit={texts.apis.publish.stage} onSubmit={stage} isDisabled={input === undefined}>
      <p>
        {words.changeEffect(active)} {hasStaging && words.replacesStaged}
      </p>
      <BackendFields draft={draft} onChange={setDraft} stored={backend} hint={words.keptHint} faultAt={faults.at} />
    </Form>
  )
}

/** For settings that need files and secrets, which do not go through the console. */
function Commands({ proxy: { api, activeRevision, backend, transform } }: { readonly proxy: Proxy }) {
  if (activeRevision === null) return null
  const lines = backendCommands({ api, revision: activeRevision, backend, transform }, location.origin)
  return (
    <section aria-labelledby="commands">
      <h2 id="commands">{words.commands}</h2>
      <p class="quiet">{words.commandsLead}</p>
      {(['tls', 'secretHeaders', 'transform'] as const).map((each) => (
        <details key={each}>
          <summary>{words[each]}</summary>
          <pre tabIndex={0}>{lines[each]}</pre>
        </details>
      ))}
    </section>
  )
}
