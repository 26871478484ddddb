/** The numbers of the advisory locks, in one place so that no two locks share one by mistake. */

/** Orders commits, and migrations before them. */
export const COMMIT_LOCK = 7_496_317
/** Lets one node at a time enter the list. */
export const ENTER_LOCK = 7_496_318
/** Seed of the hash of an incarnation, which is the lock that a node holds while it runs. */
export const NODE_SEED = 7_496_319
/** Lets one node start at a time. */
export const START_LOCK = 7_496_320
/** Orders additions to the device codes. */
export const DEVICE_CODE_LOCK = 7_496_350
/** Seed of the hash of an API, which is the lock of reports on its backend. */
export const UPSTREAM_SEED = 7_496_333
