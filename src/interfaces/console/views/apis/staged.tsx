/** The staged revisions of all APIs, which wait for their activation. */

import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { addressesOf } from './backend-addresses.ts'

const words = texts.apis.staged

export function StagedRevisions() {
  return (
    <Page title={words.title}>
      <p class="quiet">{words.lead}</p>
      <List
        path="/v1/proxies"
        query={{ hasStaging: 'true' }}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: ['tollgate proxies list --has-staging true'] }}
        columns={[
          {
            title: words.columns.api,
            cell: ({ api }) => <a href={`${BASE}apis/${encodeURIComponent(api)}/revisions`}>{api}</a>,
          },
          { title: words.columns.staged, cell: ({ stagingRevision }) => words.revision(stagingRevision ?? 0) },
          {
            title: words.columns.active,
            cell: ({ activeRevision }) => (activeRevision === null ? words.noActive : words.revision(activeRevision)),
          },
          {
            title: words.columns.backend,
            cell: ({ staging }) => <code>{staging === null ? '' : addressesOf(staging.backend)}</code>,
          },
        ]}
      />
    </Page>
  )
}
