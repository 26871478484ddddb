/** The revisions of an API: what serves, what is staged, what served before, and what differs between two of them. */

import { change } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { DialogButton, Form } from '../../parts/dialog.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Loaded } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { State, Time } from '../../parts/values.tsx'
import { segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import { CanaryButton } from './canary-form.tsx'
import { CanaryLevels } from './canary-levels.tsx'
import { CompareRevisions } from './compare-revisions.tsx'
import { StageForm } from './stage-form.tsx'
import type { Proxy } from './proxy.ts'
import { useProxy, useRevisions } from './use-document.ts'

const words = texts.apis.revisions

type Revision = Item<'/v1/proxies/:id/revisions'>

/** Below the tab: a form for another document. */
const NEW = 'new'

export function Revisions(props: ApiTabProps) {
  const { id } = props.api
  const reading = useProxy(id)
  return (
    <Loaded reading={reading}>
      {({ proxy }) => {
        if (segment(3) === NEW) return <StageForm api={id} proxy={proxy} onStaged={reading.reload} />
        if (proxy === null) return <p class="empty">{words.none}</p>
        const reload = (): void => {
          reading.reload()
          props.reload()
        }
        return <RevisionList proxy={proxy} reload={reload} refresh={reading.reload} />
      }}
    </Loaded>
  )
}

interface ProxyProps {
  readonly proxy: Proxy
  readonly reload: () => void
}

interface ListProps extends ProxyProps {
  /** Reads the deployment again. */
  readonly refresh: () => void
}

function RevisionList({ proxy, reload, refresh }: ListProps) {
  const revisions = useRevisions(proxy.id)
  const reloadAll = (): void => {
    reload()
    revisions.reload()
  }
  const mayWrite = may('proxies:write')
  return (
    <>
      <ListOf
        reading={revisions}
        caption={words.title}
        keyOf={({ revision }) => String(revision)}
        empty={{ text: words.none }}
        columns={[
          { title: words.columns.revision, cell: ({ revision }) => words.name(revision) },
          { title: words.columns.fate, cell: ({ fate }) => <State of={words.fates[fate as 'active'] ?? fate} /> },
          { title: words.columns.version, cell: ({ version }) => <bdi>{version}</bdi> },
          { title: words.columns.time, cell: ({ time }) => <Time at={time} /> },
          ...(mayWrite
            ? [
                {
                  title: words.columns.actions,
                  cell: (row: Revision) => <Actions revision={row} proxy={proxy} reload={reloadAll} />,
                },
              ]
            : []),
        ]}
      />
      <CanaryLevels proxy={proxy} reload={refresh} />
      <CompareRevisions proxy={proxy} revisions={revisions.data?.items ?? []} />
    </>
  )
}

function Actions({ revision: { revision, fate }, proxy, reload }: ProxyProps & { readonly revision: Revision }) {
  const { id, api, activeRevision, canary } = proxy
  const done = (text: string, undo: (() => Promise<unknown>) | null) => (): void => {
    notify(text, undo)
    reload()
  }
  const stageAgain = (number: number) => async (): Promise<void> => {
    await change('POST /v1/proxies', {}, { api, fromRevision: number })
    reload()
  }
  const serveAgain = (number: number) => async (): Promise<void> => {
    await stageAgain(number)()
    await change('POST /v1/proxies/:id/activate', { id }, {})
    reload()
  }
  const undo = activeRevision === null ? null : serveAgain(activeRevision)
  if (fate === 'staging' || fate === 'canary')
    return (
      <span class="actions">
        <Step
          label={words.activate(revision)}
          effect={activeRevision === null ? words.activateFirst : words.activateEffect(activeRevision)}
          onSubmit={async () => change('POST /v1/proxies/:id/activate', { id }, {})}
          onDone={done(words.activated(revision), undo)}
          isMain
        />
        <CanaryButton proxy={proxy} revision={revision} onDone={reload} />
        <Step
          label={words.discard(revision)}
          effect={fate === 'canary' ? words.discardCanaryEffect : words.discardEffect}
          onSubmit={async () => change('POST /v1/proxies/:id/discard', { id }, undefined)}
          onDone={done(words.discarded(revision), stageAgain(revision))}
        />
      </span>
    )
  // No other revision can be staged meanwhile.
  if (canary !== null) return null
  if (fate === 'superseded')
    return (
      <Step
        label={words.rollBack(revision)}
        effect={words.rollBackEffect(activeRevision)}
        onSubmit={serveAgain(revision)}
        onDone={done(words.rolledBack(revision), undo)}
      />
    )
  if (fate === 'active') return null
  return (
    <Step
      label={words.stageAgain(revision)}
      effect={words.stageAgainEffect}
      onSubmit={stageAgain(revision)}
      onDone={done(words.stagedAgain(revision), async () => {
        await change('POST /v1/proxies/:id/discard', { id }, undefined)
        reload()
      })}
    />
  )
}

interface StepProps {
  readonly label: string
  readonly effect: string
  readonly onSubmit: () => Promise<unknown>
  readonly onDone: () => void
  readonly isMain?: boolean
}

/** Says what it will do before it does it. */
function Step({ label, effect, onSubmit, onDone, isMain = false }: StepProps) {
  return (
    <DialogButton label={label} isMain={isMain}>
      {(close) => (
        <Form
          submit={label}
          onSubmit={async () => {
            await onSubmit()
            close()
            onDone()
          }}
        >
          <p>{effect}</p>
        </Form>
      )}
    </DialogButton>
  )
}
