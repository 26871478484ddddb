/** The sessions of a person: sign-ins from which a client still has access. */

import { change, isSignedIn } from '../../api/client.ts'
import type { Item } from '../../api/operations.ts'
import { useRead, type Reading } from '../../api/use-read.ts'
import { ActionButton, ConfirmButton } from '../../parts/dialog.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'

type Session = Item<'/v1/me/sessions'>
type Sessions = Reading<{ readonly items: readonly Session[]; readonly next: string | null }>

const words = texts.settings.people

export function Sessions({ of: id, name }: { readonly of: string; readonly name: string }) {
  const reading = useRead('/v1/users/:id/sessions', { params: { id }, query: Pages.query() })
  const isWriter = scopes.value.has('users:write')
  const end = (session: string) => change('DELETE /v1/users/:id/sessions/:session', { id, session }, undefined)
  const endAll = async (): Promise<void> => {
    await change('DELETE /v1/users/:id/sessions', { id }, undefined)
    notify(words.sessionsEnded)
    reading.reload()
  }
  return (
    <section>
      <h2>{words.sessions}</h2>
      <SessionTable reading={reading} end={isWriter ? end : null} />
      {isWriter && (
        <ConfirmButton
          label={words.endSessions}
          consequence={<bdi>{words.endSessionsConsequence(name)}</bdi>}
          onConfirm={endAll}
        />
      )}
    </section>
  )
}

/** The session of this page may be the one that is ended. */
export function MySessions() {
  const reading = useRead('/v1/me/sessions', { query: Pages.query() })
  const end = (id: string) => change('DELETE /v1/me/sessions/:id', { id }, undefined)
  const endAll = async (): Promise<void> => {
    await change('DELETE /v1/me/sessions', {}, undefined)
    isSignedIn.value = false
  }
  return (
    <section>
      <h2>{texts.settings.me.sessions}</h2>
      <p class="quiet">{texts.settings.me.own}</p>
      <SessionTable reading={reading} end={scopes.value.has('me:write') ? end : null} />
      {scopes.value.has('me:write') && <ActionButton label={texts.account.everywhere} onClick={endAll} />}
    </section>
  )
}

interface SessionTableProps {
  readonly reading: Sessions
  /** Null: the person may not end sessions. */
  readonly end: ((id: string) => Promise<unknown>) | null
}

function SessionTable({ reading, end }: SessionTableProps) {
  const { sessionColumns: columns } = words
  const endOne = async (id: string): Promise<void> => {
    await end?.(id)
    notify(words.sessionEnded)
    reading.reload()
  }
  return (
    <ListOf
      reading={reading}
      caption={words.sessions}
      keyOf={({ id }) => id}
      empty={{ text: words.noSessions, commands: ['tollgate me sessions'] }}
      columns={[
        { title: columns.client, cell: ({ clientId }) => <bdi>{clientId}</bdi> },
        { title: columns.api, cell: ({ api }) => <bdi>{api ?? ''}</bdi> },
        { title: columns.login, cell: ({ loggedInAt }) => <Time at={loggedInAt} /> },
        { title: columns.used, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
        { title: columns.expires, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
        {
          title: columns.actions,
          cell: ({ id }) =>
            end === null ? null : <ActionButton label={words.endSession} onClick={() => endOne(id)} />,
        },
      ]}
    />
  )
}
