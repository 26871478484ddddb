/** The audit log: who changed what, with the document before and after. */

import type { Item } from '../../api/operations.ts'
import { Diff } from '../../parts/code.tsx'
import { DialogButton } from '../../parts/dialog.tsx'
import { Filters, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { query } from '../../router.ts'
import { texts } from '../../texts.ts'

type Entry = Item<'/v1/audit'>

const words = texts.settings.audit
const FILTERS = ['kind', 'id', 'action', 'consumer'] as const

export function AuditLog() {
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.value.get(name) ?? '']))
  const { columns } = words
  return (
    <Page title={words.title}>
      <Filters>
        <TextFilter name="kind" label={words.kind} placeholder="subscription" />
        <TextFilter name="id" label={words.id} />
        <TextFilter name="action" label={words.action} placeholder="subscription.cancel" />
        <TextFilter name="consumer" label={words.actor} />
      </Filters>
      <List
        path="/v1/audit"
        query={asked}
        caption={words.title}
        keyOf={(entry) => [entry.time, entry.kind, entry.id, entry.action, entry.toRevision].join(' ')}
        empty={{ text: words.none, commands: ['tollgate audit list'] }}
        columns={[
          { title: columns.action, cell: ({ action }) => action },
          { title: columns.time, cell: ({ time }) => <Time at={time} /> },
          { title: columns.actor, cell: ({ actor }) => <Actor of={actor} /> },
          { title: columns.object, cell: (entry) => <Subject of={entry} /> },
          { title: columns.revision, cell: toRevisions },
          { title: columns.changes, cell: (entry) => <Change of={entry} /> },
        ]}
      />
    </Page>
  )
}

function Actor({ of: { consumer, agent, person } }: { readonly of: Entry['actor'] }) {
  return (
    <>
      <Id value={person ?? consumer} />
      {agent !== undefined && <bdi class="quiet"> {words.agent(agent)}</bdi>}
    </>
  )
}

function Subject({ of: { kind, id } }: { readonly of: Entry }) {
  return (
    <>
      {kind} <Id value={id} />
    </>
  )
}

function toRevisions({ fromRevision, toRevision }: Entry): string {
  if (fromRevision === null && toRevision === null) return ''
  return words.revisions(String(fromRevision ?? words.noRevision), String(toRevision ?? words.noRevision))
}

function Change({ of: { action, id, before, after } }: { readonly of: Entry }) {
  if (before === null && after === null) return null
  return (
    <DialogButton label={words.show} title={words.showOf(action, id)} isWide>
      {() => <Diff before={toText(before)} after={toText(after)} />}
    </DialogButton>
  )
}

function toText(body: unknown): string {
  return body === null ? '' : JSON.stringify(body, null, 2)
}
