// SPDX-License-Identifier: Apache-2.0
//
// libSluiceFaults.so: a library for tests that is preloaded (LD_PRELOAD) into the programs of this package, lets system
// calls on files below one folder fail, and writes down what they change there. It has nothing to call: everything is set
// by environment variables.
//
//   SLUICE_FAULTS_ROOT    the spool's folder; calls on paths elsewhere are let through untouched
//   SLUICE_FAULTS_RULES   a file of rules; read again whenever it is replaced, so that a test can begin and end a fault
//                         while the program runs (replace it by a rename; an absent file is no rules)
//   SLUICE_FAULTS_LOG     a file that is appended to; several processes may share one
//   SLUICE_FAULTS_RECORD  what goes into the log besides the faults that were injected: "changes", "traffic", "exit",
//                         with commas
//
// RULES, one a line: CALL PATH WHEN ACTION
//
//   CALL    one or more, joined by "|": open (every opening), create (an opening that makes the file), read, write (also
//           pwrite and writev), fsync, fdatasync, rename, unlink, rmdir, mkdir, link, truncate, reserve (fallocate,
//           posix_fallocate), lock (flock, also unlocking); "sync" is fsync|fdatasync, "change" is everything but open,
//           read and lock.
//   PATH    a pattern of fnmatch(3) for the path below the root, such as incoming/*.open; "*" also matches "/". The root
//           itself is ".". Renames and links are matched as "source>target", so "*>ready/*" is what moves into ready/.
//   WHEN    "*" always, "3" the third such call of this process, "3-" from the third on, "3-5" these.
//   ACTION  fail=ENOSPC   the call is not made and fails; a name or a number (fail=EINTR too)
//           short=N       a write or read handles at most N bytes and succeeds
//           delay=MS      the call is made so much later
//           kill          SIGKILL instead of the call
//           kill-after    the call is made, then SIGKILL
//           torn=N        a write handles at most N bytes, then SIGKILL
//           stop          SIGSTOP before the call; the test lets it go on with SIGCONT
//
// A rule that cannot be read ends the program with exit code 70. Every rule counts the calls that it matches by itself,
// from one on when the file is read anew. Of several rules that match, the first acts; delays add up.
//
// LOG. In the order in which the operations happened, over all processes: an operation and its entry are one step, no
// other operation of the log's processes comes between. A process that is killed from outside may miss its last entry.
// Each entry is a line, for some followed by as many bytes as it says and a newline:
//
//   OPERATION PROCESS INODE RESULT OFFSET LENGTH PATH TARGET\n[LENGTH bytes\n]
//
//   OPERATION   create    a new file was made by opening it; INODE is its number
//               write     LENGTH bytes, which follow, were written at OFFSET (also where the file is only appended to)
//               truncate  the file's length became OFFSET; also by opening it with O_TRUNC
//               extend    room was reserved from OFFSET for LENGTH; the file is at least that long now (no bytes follow)
//               reserve   room was reserved, and the file's length stays (no bytes follow)
//               fsync, fdatasync   the file's content was made durable
//               syncfolder         the folder's names were made durable
//               rename    PATH became TARGET; nothing stood at TARGET, or it was replaced
//               link      PATH got the further name TARGET
//               unlink, mkdir, rmdir   PATH
//               lock, unlock   flock(2) on PATH; changes nothing, tells when it was held (shared: LENGTH is 1)
//               fault     a rule acted on the call at PATH; TARGET is "CALL:ACTION"
//               send      LENGTH bytes, which follow, are about to be sent over a socket, PATH "-" ("traffic"): before
//                         this entry nobody can have been told
//               exit      the process ends by exit(3), which lets libraries clean up under threads that may still use
//                         them ("exit"); PATH "-"
//               receive   LENGTH bytes, which follow, were received from a socket ("traffic")
//   RESULT      0 or more as the call returned it, for write the bytes written; or the negative errno. What failed has
//               changed nothing, but after a failed sync what it was to make durable may be lost for good.
//   INODE       the file's number: a file keeps it when it is renamed, and it may be used again once the file is gone
//   PATH        below the root, as the file is named at that moment; bytes up to 0x20, "%", ">" and 0x7F are %XX
//   TARGET      "-" where there is none
//
// Stores through mmap(2), which is how the duplicate window is filled, are not seen.
#pragma once
