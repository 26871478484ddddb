/** The documentation of an API: its operations as the document that serves declares them. */

import { Empty, Loaded } from '../../parts/states.tsx'
import { segment } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import type { ApiDocument } from './document.ts'
import { OperationDetails } from './operation-details.tsx'
import { OperationList } from './operation-list.tsx'
import { useServingDocument } from './use-document.ts'

const words = texts.apis.documentation
const PLATFORM = 'platform-v1'
const PLATFORM_DOCUMENT = '/openapi.json'

export function Documentation({ api: { id } }: ApiTabProps) {
  const reading = useServingDocument(id)
  return (
    <Loaded reading={reading}>
      {({ document }) => (document === null ? <NotServing api={id} /> : <Operations api={id} document={document} />)}
    </Loaded>
  )
}

export function NotServing({ api }: { readonly api: string }) {
  if (api === PLATFORM)
    return (
      <div class="empty">
        <p>
          {words.platform} <a href={PLATFORM_DOCUMENT}>{PLATFORM_DOCUMENT}</a>
        </p>
      </div>
    )
  if (!may('proxies:write')) return <Empty text={words.noneYet} />
  return <Empty text={words.none} commands={[`tollgate proxies activate ${api}`]} />
}

function Operations({ api, document }: { readonly api: string; readonly document: ApiDocument }) {
  const { operations, description } = document
  const key = segment(3)
  const shown = operations.find((each) => each.key === key)
  return (
    <div class="documentation">
      <OperationList api={api} tab="documentation" operations={operations} current={key} />
      <div class="operation">
        {shown === undefined ? (
          <>
            <p class="prose">
              <bdi>{description === '' ? words.choose : description}</bdi>
            </p>
            {key !== '' && <p class="notice">{words.gone}</p>}
          </>
        ) : (
          <OperationDetails key={shown.key} api={api} operation={shown} resolve={document.resolve} />
        )}
      </div>
    </div>
  )
}
