/** The entries of the audit log about one object. */

import { texts } from '../texts.ts'
import { List } from './list.tsx'
import { Id, Time } from './values.tsx'

const words = texts.activity

export function AuditTrail({ id }: { readonly id: string }) {
  return (
    <List
      path="/v1/audit"
      query={{ id }}
      caption={words.title}
      keyOf={({ time, action, toRevision }) => `${time} ${action} ${toRevision}`}
      empty={{ text: words.none, commands: [`tollgate audit list --id ${id}`] }}
      columns={[
        { title: words.columns.action, cell: ({ action }) => <code>{action}</code> },
        { title: words.columns.time, cell: ({ time }) => <Time at={time} /> },
        {
          title: words.columns.actor,
          cell: ({ actor }) => (
            <>
              <Id value={actor.person ?? actor.consumer} />{' '}
              {actor.agent !== undefined && <span class="quiet">{words.agent(actor.agent)}</span>}
            </>
          ),
        },
        {
          title: words.columns.change,
          cell: ({ fromRevision, toRevision }) =>
            toRevision === null && fromRevision === null ? words.wasRead : words.revisions(fromRevision, toRevision),
        },
      ]}
    />
  )
}
